#// task softmax_in_place
#// expect ok
#// why A task that is updated in place hands its tensor over for that.
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x.copy_(torch.softmax(x, -1))
