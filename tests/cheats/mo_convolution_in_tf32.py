#// task convolution
#// expect wrong/precision
#// why TF32 turned on for convolutions, where the task does not allow it.
#// only nvidia
import torch

torch.backends.cudnn.allow_tf32 = True


class ModelNew(torch.nn.Module):
    def forward(self, x, w):
        return torch.nn.functional.conv2d(x, w, padding=1)
