#// task softmax
#// expect wrong/dtype
#// timeout 20
#// why A sparse tensor has no elements to read.
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x, -1).to_sparse()
