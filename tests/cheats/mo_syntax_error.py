#// task softmax
#// expect build_error/syntax
#// why No Python.
import torch



class ModelNew(torch.nn.Module)
    def forward(self, x):
        return torch.softmax(x, -1)
