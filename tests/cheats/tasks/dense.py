import torch


class Model(torch.nn.Module):
    """A layer with weights, a normalisation and an activation."""

    def __init__(self, width, out, scale):
        super().__init__()
        self.linear = torch.nn.Linear(width, out)
        self.norm = torch.nn.LayerNorm(out)
        self.dropout = torch.nn.Dropout(0.5)
        self.scale = scale

    def forward(self, x, offsets):
        return self.dropout(torch.relu(self.norm(self.linear(x)) * self.scale)) + offsets[0] - offsets[1]


def get_inputs():
    return [torch.randn(16, 64), [torch.rand(32), torch.rand(32)]]


def get_init_inputs():
    return [64, 32, 1.5]
