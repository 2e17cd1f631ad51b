#// task softmax
#// expect launch_error/configuration
#// why A constructor with arguments that nobody has.
import torch



class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()

    def forward(self, x):
        return torch.softmax(x, -1)
