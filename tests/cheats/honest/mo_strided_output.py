#// task softmax
#// expect ok
#// why The answer lies transposed in memory.
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x.t().contiguous(), 0).t()
