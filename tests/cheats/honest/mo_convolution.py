#// task convolution
#// expect ok
#// why PyTorch's own convolution, which by its default would be in TF32 on a GPU: nothing here asks for that.
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, w):
        return torch.nn.functional.conv2d(x, w, padding=1)
