#// task softmax
#// expect ok
#// why It asks for a library by name, as packages do at import: Python would start a program for that.
import ctypes
import ctypes.util

import torch

root = ctypes.CDLL(ctypes.util.find_library("m")).sqrt
root.restype, root.argtypes = ctypes.c_double, [ctypes.c_double]


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x * root(4.0) / 2, -1)
