#// task decay
#// expect ok
#// why One step after the other, without a cumulative sum.
import torch


class ModelNew(torch.nn.Module):
    def forward(self, a, x, k):
        y = torch.zeros(a.shape[0], k.shape[1], device=a.device)
        for t in range(a.shape[1]):
            y = y * torch.exp(a[:, t, None]) + x[:, t, None] * k[t]
        return y
