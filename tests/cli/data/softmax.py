#@ kernel softmax_row grid=(rows) args=(x, y, cols:i32)
#@ define BLOCK = cols <= 128 ? 128 : cols <= 1024 ? 1024 : cols <= 4096 ? 4096 : cols <= 16384 ? 16384 : 65536
#@ tune num_warps in {4, 8, 16} default 8
#@ require cols <= 65536
import triton
import triton.language as tl


@triton.jit
def softmax_row(x, y, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * cols
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row + i, mask=i < cols, other=-float("inf")).to(tl.float32)
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + row + i, (e / tl.sum(e, axis=0)).to(y.dtype.element_ty), mask=i < cols)
