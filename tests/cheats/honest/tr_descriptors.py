#// task copy
#// expect ok
#// why Blocks by descriptors that the kernel makes itself; the hardware moves 16 bytes at least.
#@ kernel block grid=(cdiv(n, 1024)) args=(x, y, n:i32)
#@ require n > 0 && n % 4 == 0
import triton
import triton.language as tl


@triton.jit
def block(x, y, n):
    a = tl.make_tensor_descriptor(x, [n], [1], [1024])
    b = tl.make_tensor_descriptor(y, [n], [1], [1024])
    b.store([tl.program_id(0) * 1024], a.load([tl.program_id(0) * 1024]))
