#// task softmax
#// expect build_error/undefined
#// why No class ModelNew.
import torch



class Model(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x, -1)
