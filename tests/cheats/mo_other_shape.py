#// task softmax
#// expect wrong/shape
#// why Right values in another shape.
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x, -1).flatten()
