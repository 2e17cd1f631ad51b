#// task decay
#// expect wrong/mismatch wrong/precision
#// why What is given to exp was rounded to f16.
import torch


class ModelNew(torch.nn.Module):
    def forward(self, a, x, k):
        after = torch.cumsum(a, dim=1)
        return (x * torch.exp((after[:, -1:] - after).to(torch.float16).to(torch.float32))) @ k
