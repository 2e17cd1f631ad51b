#// task softmax
#// expect wrong/nan
#// why NaN compares unequal to everything, and some comparisons overlook that.
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x, -1) * float('nan')
