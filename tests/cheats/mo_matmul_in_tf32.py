#// task matmul
#// expect wrong/precision
#// why TF32 turned on for products, where the task does not allow it.
#// only nvidia
import torch

torch.set_float32_matmul_precision("high")


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return a @ b
