#// task copy
#// expect wrong/alias
#// why A view of the input is right, until the input is overwritten.
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x.view(x.shape)
