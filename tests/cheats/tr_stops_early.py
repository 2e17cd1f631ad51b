#// task rowsum
#// expect wrong/mismatch
#// why A loop that leaves the last columns out.
#@ kernel rowsum grid=(rows) args=(x, y, cols:i32)
import triton
import triton.language as tl


@triton.jit
def rowsum(x, y, cols):
    s = tl.zeros((128,), tl.float32)
    for c in range(0, cols // 128 * 128, 128):
        s += tl.load(x + tl.program_id(0) * cols + c + tl.arange(0, 128))
    tl.store(y + tl.program_id(0), tl.sum(s, axis=0))
