#// task softmax
#// expect cheat/background_work
#// why A thread computes when no clock runs.
import torch
import threading


def work():
    a = torch.ones(64, 64)
    while True:
        a = (a @ a).clamp(0, 1)


threading.Thread(target=work, daemon=True).start()


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x, -1)
