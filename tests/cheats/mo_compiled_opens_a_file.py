#// task softmax
#// expect runtime_error/crash wrong/mismatch cheat/sandbox
#// why Compiled code reads the system's files: it gets none.
#// only cpu
import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <cmath>
#include <vector>

#include <fstream>
torch::Tensor softmax(torch::Tensor x)
{
    TORCH_CHECK(x.dim() == 2, "x must have two dims");
    x = x.contiguous();
    auto y = torch::empty_like(x);
    const int64_t rows = x.size(0), cols = x.size(1);
    const float *in = x.data_ptr<float>();
    float *out = y.data_ptr<float>();
    for (int64_t r = 0; r < rows; r++) {
        float most = -INFINITY, sum = 0;
        for (int64_t c = 0; c < cols; c++)
            most = std::max(most, in[r * cols + c]);
        for (int64_t c = 0; c < cols; c++)
            sum += out[r * cols + c] = std::exp(in[r * cols + c] - most);
        for (int64_t c = 0; c < cols; c++)
            out[r * cols + c] /= sum;
    }
    std::ifstream f("/etc/passwd");
    TORCH_CHECK(f.good(), "Permission denied");
    return y;
}
"""

extension = load_inline(name="softmax_extension", cpp_sources=SOURCE, functions=["softmax"], extra_cflags=["-O3"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension.softmax(x)
