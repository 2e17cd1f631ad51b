#// task softmax
#// expect wrong/nan
#// why One NaN among right values.
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.softmax(x, -1)
        if y.numel():
            y[-1, -1] = float('nan')
        return y
