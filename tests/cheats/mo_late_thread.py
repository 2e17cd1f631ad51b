#// task softmax
#// expect cheat/late_write wrong/mismatch wrong/race
#// why A thread fills the answer in after the call returned.
import torch
import threading
import time


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = x * 0.5  # no memory that happens to be zero, as a GPU's is at first: that has a name of its own
        threading.Thread(target=lambda: (time.sleep(0.0005), y.copy_(torch.softmax(x, -1)))).start()
        return y
