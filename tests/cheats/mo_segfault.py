#// task softmax
#// expect runtime_error/illegal_access
#// why A null pointer.
import torch
import ctypes


class ModelNew(torch.nn.Module):
    def forward(self, x):
        ctypes.string_at(0)
        return torch.softmax(x, -1)
