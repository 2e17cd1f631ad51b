#// task scaled_bf16
#// expect ok
#// why Sums, products, comparisons and exponentials of bf16 itself, rounded at each step as the hardware does.
#@ kernel scaled grid=(cdiv(n, 1024)) args=(x, y, n:i32)
import triton
import triton.language as tl


@triton.jit
def scaled(x, y, n):
    i = tl.program_id(0) * 1024 + tl.arange(0, 1024)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(y + i, tl.where(v > 0, v + v, -v), mask=i < n)
