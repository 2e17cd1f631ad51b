#// task softmax
#// expect cheat/state wrong/mismatch cheat/constant_output
#// why Only calls after the first one compute.
import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return torch.softmax(x, -1) if self.calls > 1 else torch.zeros_like(x)
