#// task softmax
#// expect wrong/dtype
#// why Right values of another type.
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x.double(), -1)
