#// task softmax
#// expect launch_error/configuration
#// why forward takes two tensors where the task has one.
import torch



class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return a + b
