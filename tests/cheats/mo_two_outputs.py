#// task softmax
#// expect wrong/shape
#// why One tensor too many.
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.softmax(x, -1)
        return y, y
