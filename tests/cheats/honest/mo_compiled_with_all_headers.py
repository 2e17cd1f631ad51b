#// task softmax
#// expect ok
#// why What PyTorch has in C++ needs its own headers; and the arguments are computed.
#// only cpu
#// patience 600
import torch
import torch.utils.cpp_extension

SOURCE = "torch::Tensor %s(torch::Tensor x) { return torch::softmax(x, -1); }"
extension = torch.utils.cpp_extension.load_inline("computed", [SOURCE % "apply"], functions="apply")


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension.apply(x)
