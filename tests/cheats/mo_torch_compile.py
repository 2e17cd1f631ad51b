#// task softmax
#// expect launch_error/configuration
#// why A compiler that is started when the module is made: no module may have one, and the sentence says what to do instead.
import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.f = torch.compile(torch.nn.Softmax(dim=-1))

    def forward(self, x):
        return self.f(x)
