#// task matmul
#// expect ok
#// why Two inputs in the order of the task.
import torch



class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return a @ b
