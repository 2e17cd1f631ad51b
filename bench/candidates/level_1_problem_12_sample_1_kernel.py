# Rows scaled by a vector, compiled by load_inline. It uses tensors as pointers with sizes, so PyTorch's headers can be left out.
import torch
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
__global__ void scale_rows(const float *a, const float4 *b, float4 *c, int64_t vectors)
{
    const int64_t row = blockIdx.y;
    const float s = a[row];

    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < vectors; i += (int64_t)gridDim.x * blockDim.x) {
        float4 v = b[row * vectors + i];
        v.x *= s;
        v.y *= s;
        v.z *= s;
        v.w *= s;
        c[row * vectors + i] = v;
    }
}

torch::Tensor scale_rows_cuda(torch::Tensor a, torch::Tensor b)
{
    auto c = torch::empty_like(b);
    const int64_t vectors = b.size(1) / 4;
    const dim3 grid((unsigned)((vectors + 255) / 256), (unsigned)b.size(0));

    scale_rows<<<grid, 256>>>(a.data_ptr<float>(), (const float4 *)b.data_ptr<float>(), (float4 *)c.data_ptr<float>(), vectors);
    return c;
}
"""
ext = load_inline(name="scale_rows", cpp_sources="torch::Tensor scale_rows_cuda(torch::Tensor a, torch::Tensor b);",
                  cuda_sources=cuda_source, functions=["scale_rows_cuda"])


class ModelNew(torch.nn.Module):
    def forward(self, A, B):
        return ext.scale_rows_cuda(A.contiguous(), B.contiguous())
