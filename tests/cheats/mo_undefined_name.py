#// task softmax
#// expect build_error/undefined
#// why A name that does not exist, where the class is made.
import torch



SIZE = WIDTH * 2


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x, -1)
