#// task softmax
#// expect wrong/dtype
#// why An object that is a tensor only when it is asked.
import torch



class Later:
    def __init__(self, x):
        self.x = x

    def __getattr__(self, name):
        return getattr(torch.softmax(self.x, -1), name)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return Later(x)
