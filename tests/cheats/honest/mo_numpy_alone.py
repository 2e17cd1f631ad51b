#// task softmax_no_library
#// expect ok
#// why No operation of PyTorch computes anything here.
#// only cpu
import torch
import numpy


class ModelNew(torch.nn.Module):
    def forward(self, x):
        if x.numel() == 0:
            return x.clone()
        a = x.numpy()
        e = numpy.exp(a - a.max(-1, keepdims=True))
        return torch.from_numpy(e / e.sum(-1, keepdims=True))
