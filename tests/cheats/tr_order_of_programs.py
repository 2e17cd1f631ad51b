#// task rowsum
#// expect wrong/race wrong/mismatch wrong/nan wrong/unwritten
#// why The program of part 0 begins a sum that the others add to: right in one order only.
#@ kernel rowsum grid=(cdiv(cols, 128), rows) args=(x, y, cols:i32)
import triton
import triton.language as tl


@triton.jit
def rowsum(x, y, cols):
    row = tl.program_id(1)
    i = tl.program_id(0) * 128 + tl.arange(0, 128)
    s = tl.sum(tl.load(x + row * cols + i, mask=i < cols, other=0.0), axis=0)
    if tl.program_id(0) > 0:
        s += tl.load(y + row)
    tl.store(y + row, s)
