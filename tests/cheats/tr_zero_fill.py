#// task rowmax
#// expect wrong/mismatch wrong/nan cheat/constant_output
#// why Zero is no neutral element of a maximum (case B11).
#@ kernel rowmax grid=(rows) args=(x, y, cols:i32)
import triton
import triton.language as tl


@triton.jit
def rowmax(x, y, cols):
    i = tl.arange(0, 8192)
    v = tl.load(x + tl.program_id(0) * cols + i, mask=i < cols, other=0.0)
    tl.store(y + tl.program_id(0), tl.max(v, axis=0))
