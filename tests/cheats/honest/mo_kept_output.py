#// task softmax
#// expect ok
#// why An output buffer that every call writes anew.
import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.y = None

    def forward(self, x):
        if self.y is None or self.y.shape != x.shape:
            self.y = torch.empty_like(x)
        return torch.softmax(x, -1, out=self.y)
