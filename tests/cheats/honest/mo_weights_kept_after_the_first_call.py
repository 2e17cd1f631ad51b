#// task dense
#// expect ok
#// why What is derived from weights may be kept: they stay, as in a model.
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, width, out, scale):
        super().__init__()
        self.linear = torch.nn.Linear(width, out)
        self.norm = torch.nn.LayerNorm(out)
        self.scale = scale
        self.kept = None

    def forward(self, x, offsets):
        if self.kept is None:
            self.kept = self.linear.weight.t().contiguous()
        return torch.relu(self.norm(x @ self.kept + self.linear.bias) * self.scale) + offsets[0] - offsets[1]
