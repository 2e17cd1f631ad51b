#// task decay
#// expect wrong/mismatch cheat/constant_output
#// why The first half of the steps is left out, whose terms are the largest.
import torch


class ModelNew(torch.nn.Module):
    def forward(self, a, x, k):
        after = torch.cumsum(a, dim=1)
        return (x * torch.exp(after[:, -1:] - after))[:, 32:] @ k[32:]
