#// task softmax
#// expect wrong/dtype
#// why A subclass that computes when it is compared.
import torch



class Lazy(torch.Tensor):
    @staticmethod
    def __new__(cls, x):
        return torch.Tensor._make_wrapper_subclass(cls, x.shape, dtype=x.dtype)

    def __init__(self, x):
        self.x = x

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        args = [torch.softmax(a.x, -1) if isinstance(a, Lazy) else a for a in args]
        return function(*args, **(kwargs or {}))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return Lazy(x)
