#// task softmax
#// expect wrong/precision wrong/mismatch
#// why Computed in bf16 and cast back.
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x.bfloat16(), -1).float()
