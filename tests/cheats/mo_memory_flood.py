#// task softmax
#// expect launch_error/out_of_memory
#// why All memory of the machine.
#// timeout 20
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        kept = []
        while True:
            kept.append(torch.ones(1 << 26))
