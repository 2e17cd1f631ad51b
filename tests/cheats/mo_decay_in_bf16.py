#// task decay
#// expect wrong/mismatch wrong/precision
#// why A product of values rounded to bf16, where rounding moves some elements much more than others.
import torch


class ModelNew(torch.nn.Module):
    def forward(self, a, x, k):
        after = torch.cumsum(a, dim=1)
        return (x * torch.exp(after[:, -1:] - after)).to(torch.bfloat16).to(torch.float32) @ k
