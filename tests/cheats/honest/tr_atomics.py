#// task rowsum
#// expect ok
#// why Several programs add to one element, in any order.
#@ kernel clear grid=(cdiv(rows, 128)) args=(y, rows:i32)
#@ kernel rowsum grid=(4, rows) args=(x, y, cols:i32)
import triton
import triton.language as tl


@triton.jit
def clear(y, rows):
    i = tl.program_id(0) * 128 + tl.arange(0, 128)
    tl.store(y + i, 0.0, mask=i < rows)


@triton.jit
def rowsum(x, y, cols):
    row = tl.program_id(1)
    i = tl.program_id(0) * 2048 + tl.arange(0, 2048)
    tl.atomic_add(y + row, tl.sum(tl.load(x + row * cols + i, mask=i < cols, other=0.0), axis=0))
