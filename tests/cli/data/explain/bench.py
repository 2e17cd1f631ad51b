import time
import torch

def bench(op, x):
    x = x.cuda()
    start = time.perf_counter()
    for _ in range(100):
        y = op(x)
    return (time.perf_counter() - start) / 100

def bench_right(op, x):
    x = x.cuda()
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(100):
        y = op(x)
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / 100
