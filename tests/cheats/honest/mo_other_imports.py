#// task softmax
#// expect ok
#// why Modules of the standard library that no player has loaded yet.
import torch
import decimal
import statistics
import xml.dom.minidom


class ModelNew(torch.nn.Module):
    def forward(self, x):
        assert decimal.Decimal(2) and statistics.mean([1, 3]) == 2
        return torch.softmax(x, -1)
