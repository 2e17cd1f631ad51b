#// task dense
#// expect launch_error/configuration
#// why There is no place for a weight of the reference.
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, width, out, scale):
        super().__init__()
        self.scale = scale

    def forward(self, x, offsets):
        return x[:, :32] * self.scale
