#// task softmax
#// expect wrong/mismatch wrong/nan wrong/unwritten cheat/constant_output
#// why Memory that nobody wrote may hold the answer of an earlier call.
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.empty_like(x)
