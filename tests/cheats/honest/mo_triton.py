#// task softmax
#// expect ok
#// why Triton kernels that the module launches: two of them, a helper, configs, heuristics, a function of autograd around them.
#// timeout 10
#// patience 300
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

LOWEST = tl.constexpr(float("-inf"))


@triton.jit
def shifted(v, m):
    return libdevice.exp(v - m)


@triton.autotune(configs=[triton.Config({"ROWS": 16}, num_warps=w) for w in (2, 4)], key=["cols"])
@triton.heuristics({"BLOCK": lambda a: triton.next_power_of_2(a["cols"])})
@triton.jit
def row_facts(x, facts, rows, cols, stride_row, stride_col, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row, i = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, BLOCK)
    inside = (row < rows)[:, None] & (i < cols)[None, :]
    v = tl.load(x + row[:, None] * stride_row + i[None, :] * stride_col, mask=inside, other=LOWEST)
    m = tl.where(row < rows, tl.max(v, axis=1), 0.0)
    tl.store(facts + 2 * row, m, mask=row < rows)
    tl.store(facts + 2 * row + 1, tl.sum(shifted(v, m[:, None]), axis=1), mask=row < rows)


@triton.jit
def divide(x, facts, y, rows, cols, stride_row, stride_col, ROWS: tl.constexpr, BLOCK: tl.constexpr = 512):
    row, i = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = (row < rows)[:, None] & (i < cols)[None, :]
    v = tl.load(x + row[:, None] * stride_row + i[None, :] * stride_col, mask=inside, other=0.0)
    m = tl.load(facts + 2 * row, mask=row < rows, other=0.0)
    total = tl.load(facts + 2 * row + 1, mask=row < rows, other=1.0)
    tl.store(y + row[:, None] * cols + i[None, :], shifted(v, m[:, None]) / total[:, None], mask=inside)


class Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        rows, cols = x.shape
        y = torch.empty(rows, cols, device=x.device, dtype=x.dtype)
        facts = torch.empty(rows, 2, device=x.device, dtype=torch.float32)
        row_facts[lambda meta: (triton.cdiv(rows, meta["ROWS"]),)](x, facts, rows, cols, *x.stride())
        divide[lambda meta: (triton.cdiv(rows, meta["ROWS"]), triton.cdiv(cols, meta["BLOCK"]))](x, facts, y, rows, cols, *x.stride(), ROWS=16)
        return y


class ModelNew(torch.nn.Module):
    def forward(self, x):
        assert x.is_cuda
        return Softmax.apply(x)
