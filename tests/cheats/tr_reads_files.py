#// task affine
#// expect build_error/type
#// why Asks Python for a folder from inside of a kernel.
#@ kernel affine grid=(cdiv(n, 4096)) args=(x, y, n:i64)
import triton
import triton.language as tl


@triton.jit
def affine(x, y, n):
    names: tl.constexpr = triton.runtime.cache.os.listdir("/")
    i = tl.program_id(0).to(tl.int64) * 4096 + tl.arange(0, 4096)
    tl.store(y + i, 2.0 * tl.load(x + i, mask=i < n) + len(names), mask=i < n)
