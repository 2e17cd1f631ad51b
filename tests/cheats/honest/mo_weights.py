#// task dense
#// expect ok
#// why The weights of the reference, and constructor arguments as it has them.
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, width, out, scale):
        super().__init__()
        self.linear = torch.nn.Linear(width, out)
        self.norm = torch.nn.LayerNorm(out)
        self.scale = scale

    def forward(self, x, offsets):
        y = torch.nn.functional.linear(x, self.linear.weight, self.linear.bias)
        mean, deviation = y.mean(-1, keepdim=True), y.var(-1, keepdim=True, unbiased=False)
        y = (y - mean) * torch.rsqrt(deviation + 1e-5) * self.norm.weight + self.norm.bias
        return torch.relu(y * self.scale) + offsets[0] - offsets[1]
