#// task softmax
#// expect runtime_error/illegal_access wrong wrong/race
#// why Its Triton kernel reads and writes whole blocks, whatever the number of columns.
import torch
import triton
import triton.language as tl


@triton.jit
def softmax(x, y, cols, BLOCK: tl.constexpr):
    at = tl.program_id(0) * cols + tl.arange(0, BLOCK)
    v = tl.load(x + at)
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + at, e / tl.sum(e, axis=0))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        softmax[(x.shape[0],)](x, y, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
        return y
