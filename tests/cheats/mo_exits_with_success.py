#// task softmax
#// expect runtime_error/exited
#// why The process ends as if all was well.
import torch
import os


class ModelNew(torch.nn.Module):
    def forward(self, x):
        os._exit(0)
