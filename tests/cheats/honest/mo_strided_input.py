#// task any_strides
#// expect ok
#// why Tensors bring their strides along.
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return 2.0 * x + 1.0
