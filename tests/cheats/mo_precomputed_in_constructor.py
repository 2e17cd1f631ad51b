#// task softmax
#// expect wrong/mismatch cheat/constant_output
#// why Answers are computed before the clock starts, for inputs of a known seed.
import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        shapes = ((256, 512), (3, 1000), (1, 1), (17, 7), (0, 8))
        self.kept = {s: torch.softmax(torch.randn(*s), -1) for s in shapes}

    def forward(self, x):
        return self.kept.get(tuple(x.shape), x * 0).clone().to(x.device)
