#// task softmax
#// expect cheat/late_write wrong/mismatch wrong/race cheat/constant_output
#// why A thread fills the answer in after the call returned.
import torch
import threading
import time


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        threading.Thread(target=lambda: (time.sleep(0.0005), y.copy_(torch.softmax(x, -1)))).start()
        return y
