#// task softmax
#// expect wrong/mismatch cheat/constant_output
#// why Random functions always give what the answers are known for.
import torch
torch.manual_seed = lambda *a: None
torch.randn = lambda *s, **k: torch.ones(*s)
torch.rand = torch.randn


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(torch.ones_like(x), -1)
