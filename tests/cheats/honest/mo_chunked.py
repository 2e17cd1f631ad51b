#// task softmax
#// expect ok
#// why By chunks of rows, in threads of its own that it waits for.
import torch
from concurrent.futures import ThreadPoolExecutor


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.pool = ThreadPoolExecutor(2)

    def forward(self, x):
        parts = list(self.pool.map(lambda part: torch.softmax(part, -1), x.chunk(2))) if x.shape[0] > 1 else [torch.softmax(x, -1)]
        return torch.cat(parts)
