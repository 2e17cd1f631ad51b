#// task softmax
#// expect wrong/input_modified
#// why The input is overwritten.
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x.copy_(torch.softmax(x, -1)).clone()
