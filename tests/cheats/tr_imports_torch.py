#// task affine
#// expect build_error/include
#// why Imports a library that has the operation.
#@ kernel affine grid=(cdiv(n, 4096)) args=(x, y, n:i64)
import triton
import triton.language as tl


import torch


@triton.jit
def affine(x, y, n):
    tl.store(y, 0.0)
