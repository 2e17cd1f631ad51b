#// task softmax
#// expect launch_error/out_of_memory
#// why The same without the framework.
#// timeout 20
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        kept = []
        while True:
            kept.append(bytearray(1 << 26))
