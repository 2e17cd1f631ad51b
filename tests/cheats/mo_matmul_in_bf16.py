#// task matmul
#// expect wrong/precision wrong/mismatch
#// why The factors are rounded to bf16.
import torch



class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return (a.bfloat16() @ b.bfloat16()).float()
