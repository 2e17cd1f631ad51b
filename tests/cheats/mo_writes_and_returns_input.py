#// task softmax
#// expect wrong/input_modified wrong/alias
#// why In place, and the input is the answer.
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        x -= x.amax(-1, keepdim=True) if x.numel() else 0
        x.exp_()
        x /= x.sum(-1, keepdim=True)
        return x
