#// task matmul_bf16
#// expect ok
#// timeout 3
#// why Products of bf16, sums in f32.
#@ kernel mm grid=(cdiv(m, 128), cdiv(n, 128)) args=(a, b, c, m:i32, n:i32, k:i32)
import triton
import triton.language as tl


@triton.jit
def mm(a, b, c, m, n, k):
    i = tl.program_id(0) * 128 + tl.arange(0, 128)[:, None]
    j = tl.program_id(1) * 128 + tl.arange(0, 128)[None, :]
    acc = tl.zeros((128, 128), tl.float32)
    for s in range(0, k, 64):
        q = s + tl.arange(0, 64)
        x = tl.load(a + i * k + q[None, :], mask=(i < m) & (q[None, :] < k), other=0.0)
        y = tl.load(b + q[:, None] * n + j, mask=(q[:, None] < k) & (j < n), other=0.0)
        acc = tl.dot(x, y, acc)
    tl.store(c + i * n + j, acc.to(c.dtype.element_ty), mask=(i < m) & (j < n))
