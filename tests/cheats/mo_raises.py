#// task softmax
#// expect runtime_error/crash
#// why An exception in the call.
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        scale = 1 / (x.shape[0] - x.shape[0])
        return torch.softmax(x * scale, -1)
