#// task matmul
#// expect ok
#// why Tiles of 32, in full precision.
#@ kernel mm grid=(cdiv(m, 32), cdiv(n, 32)) args=(a, b, c, m:i32, n:i32, k:i32)
#@ tune num_stages in {2, 3} default 2
import triton
import triton.language as tl


@triton.jit
def mm(a, b, c, m, n, k):
    i = tl.program_id(0) * 32 + tl.arange(0, 32)[:, None]
    j = tl.program_id(1) * 32 + tl.arange(0, 32)[None, :]
    acc = tl.zeros((32, 32), tl.float32)
    for s in range(0, k, 32):
        q = s + tl.arange(0, 32)
        x = tl.load(a + i * k + q[None, :], mask=(i < m) & (q[None, :] < k), other=0.0)
        y = tl.load(b + q[:, None] * n + j, mask=(q[:, None] < k) & (j < n), other=0.0)
        acc = tl.dot(x, y, acc, input_precision="ieee")
    tl.store(c + i * n + j, acc, mask=(i < m) & (j < n))
