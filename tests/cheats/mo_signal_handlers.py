#// task softmax
#// expect ok
#// why Handlers for every signal change nothing.
import torch
import signal

for number in range(1, 32):
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, lambda *a: None)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x, -1)
