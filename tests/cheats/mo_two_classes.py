#// task softmax
#// expect build_error/plan
#// why Which one is meant?
import torch



class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x, -1)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.zeros_like(x)
