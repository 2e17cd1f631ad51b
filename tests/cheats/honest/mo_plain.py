#// task softmax
#// expect ok
#// why The operation itself.
#// flag _softmax
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=-1)
