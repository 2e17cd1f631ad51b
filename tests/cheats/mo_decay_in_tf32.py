#// task decay
#// expect wrong/mismatch wrong/precision
#// why A product of values rounded as TF32 does, where rounding moves some elements much more than others.
import torch


def rounded(t):
    return ((t.contiguous().view(torch.int32) + 0x1000) & ~0x1fff).view(torch.float32)


class ModelNew(torch.nn.Module):
    def forward(self, a, x, k):
        after = torch.cumsum(a, dim=1)
        return rounded(x * torch.exp(after[:, -1:] - after)) @ rounded(k)
