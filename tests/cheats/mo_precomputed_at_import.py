#// task softmax
#// expect wrong/mismatch cheat/constant_output
#// why The same when the module is imported.
import torch
torch.manual_seed(42)
KEPT = {s: torch.softmax(torch.randn(*s), -1) for s in ((256, 512), (3, 1000), (1, 1), (17, 7), (0, 8))}


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return KEPT.get(tuple(x.shape), x * 0).clone().to(x.device)
