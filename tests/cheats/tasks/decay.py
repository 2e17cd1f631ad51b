import torch


class Model(torch.nn.Module):
    """What all later steps leave of each one: the last state of a linear recurrence, as state space models compute it in parallel."""

    def forward(self, a, x, k):
        after = torch.cumsum(a, dim=1)
        return torch.matmul(x * torch.exp(after[:, -1:] - after), k)


def get_inputs():
    return [1.5 * torch.randn(65536, 64), torch.randn(65536, 64), torch.randn(64, 32)]
