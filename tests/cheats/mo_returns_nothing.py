#// task softmax
#// expect wrong/dtype
#// why No tensor at all.
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        torch.softmax(x, -1)
