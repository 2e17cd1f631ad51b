#// task softmax_no_library
#// expect cheat/library
#// why The task asks for a kernel; this is the library.
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x, -1)
