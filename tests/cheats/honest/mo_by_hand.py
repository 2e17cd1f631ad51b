#// task softmax
#// expect ok
#// why Several operations, in place on what is its own.
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = x - x.amax(-1, keepdim=True) if x.numel() else x.clone()
        y.exp_()
        y /= y.sum(-1, keepdim=True)
        return y
