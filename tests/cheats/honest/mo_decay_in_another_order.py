#// task decay
#// expect ok
#// why Exponents added up from the other end, in blocks of eight, and the product in two halves.
import torch


def after(a):
    """The sum of what comes after each step."""
    b = torch.flip(a, [1])
    inside = torch.cumsum(b.reshape(a.shape[0], -1, 8), 2)
    before = torch.nn.functional.pad(torch.cumsum(inside[:, :, -1], 1)[:, :-1], (1, 0))
    return torch.flip((inside + before[:, :, None]).reshape(a.shape) - b, [1])


class ModelNew(torch.nn.Module):
    def forward(self, a, x, k):
        w = x * torch.exp(after(a))
        half = a.shape[1] // 2
        return w[:, :half] @ k[:half] + w[:, half:] @ k[half:]
