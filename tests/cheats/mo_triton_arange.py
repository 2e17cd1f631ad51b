#// task softmax
#// expect build_error/type
#// why A range that is no power of two, as the compiler says when the module is called.
import torch
import triton
import triton.language as tl


@triton.jit
def softmax(x, y, COLS: tl.constexpr):
    at = tl.program_id(0) * COLS + tl.arange(0, COLS)
    v = tl.load(x + at)
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + at, e / tl.sum(e, axis=0))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        softmax[(x.shape[0],)](x, y, COLS=x.shape[1])
        return y
