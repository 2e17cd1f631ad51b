#// task softmax
#// expect ok
#// why No nn.Module, but a callable.
import torch



class ModelNew:
    def __call__(self, x):
        return torch.softmax(x, -1)
