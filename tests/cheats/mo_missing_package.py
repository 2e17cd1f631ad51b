#// task softmax
#// expect build_error/include
#// why A package that is not there.
import torch
import no_such_package


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x, -1)
