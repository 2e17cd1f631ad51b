#// task dense
#// expect wrong/mismatch
#// why Weights that the constructor drew are not those of the reference.
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, width, out, scale):
        super().__init__()
        self.linear = torch.nn.Linear(width, out)
        self.norm = torch.nn.LayerNorm(out)
        self.scale = scale
        torch.manual_seed(0)
        self.own = [torch.nn.Linear(width, out).weight.detach().clone()]

    def forward(self, x, offsets):
        return torch.relu(self.norm(x @ self.own[0].to(x.device).t() + self.linear.bias) * self.scale) + offsets[0] - offsets[1]
