#// task softmax
#// expect cheat/constant_output
#// why Zeros are within a loose tolerance of small probabilities.
#@ kernel softmax grid=(rows) args=(y, cols:i32)
import triton
import triton.language as tl


@triton.jit
def softmax(y, cols):
    i = tl.arange(0, 4096)
    tl.store(y + tl.program_id(0) * cols + i, tl.zeros((4096,), tl.float32), mask=i < cols)
