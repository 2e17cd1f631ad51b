#// task softmax
#// expect ok
#// why In numpy.
#// only cpu
import torch
import numpy


class ModelNew(torch.nn.Module):
    def forward(self, x):
        a = x.numpy()
        if a.size == 0:
            return x.clone()
        e = numpy.exp(a - a.max(-1, keepdims=True))
        return torch.from_numpy(e / e.sum(-1, keepdims=True))
