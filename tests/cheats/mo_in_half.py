#// task softmax
#// expect wrong/precision wrong/mismatch wrong/nan
#// why Computed in half and cast back.
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x.half(), -1).float()
