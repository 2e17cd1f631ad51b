#// task softmax
#// expect runtime_error/exited
#// why The same through an exception.
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        raise SystemExit(0)
