#// task softmax
#// expect launch_error/configuration
#// why Every call has kernels compiled that nobody needs, each for another constant.
#// patience 300
import torch
import triton
import triton.language as tl


@triton.jit
def one(x, N: tl.constexpr):
    tl.store(x, N)


class ModelNew(torch.nn.Module):
    asked = 0

    def forward(self, x):
        y = torch.softmax(x, -1)
        ask = triton.compile.__self__.ask
        for i in range(30):
            ModelNew.asked += 1
            ask(('{"kernels": [%s]}' % ", ".join('{"number": %d}' % (32 * ModelNew.asked + k) for k in range(32))).encode())
        return y
