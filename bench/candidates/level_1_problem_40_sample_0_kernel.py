# Layer norm over all but the first axis in two kernels of load_inline: sums of blocks, then the rest. PyTorch's headers can be left out.
import torch
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#define BLOCKS 64
#define THREADS 256

__device__ float block_sum(float v)
{
    __shared__ float part[THREADS];

    part[threadIdx.x] = v;
    __syncthreads();
    for (int k = THREADS / 2; k; k /= 2) {
        if (threadIdx.x < k)
            part[threadIdx.x] += part[threadIdx.x + k];
        __syncthreads();
    }
    v = part[0];
    __syncthreads();
    return v;
}

/* Of each block of a row: mean and sum of squared differences from it. */
__global__ void parts(const float *x, float *part, int64_t n)
{
    const int64_t share = n / BLOCKS;
    const float *from = x + blockIdx.y * n + blockIdx.x * share;
    float sum = 0, square = 0;

    for (int64_t i = threadIdx.x; i < share; i += THREADS)
        sum += from[i];
    const float mean = block_sum(sum) / share;
    for (int64_t i = threadIdx.x; i < share; i += THREADS)
        square += (from[i] - mean) * (from[i] - mean);
    square = block_sum(square);
    if (threadIdx.x == 0) {
        part[2 * (blockIdx.y * BLOCKS + blockIdx.x)] = mean;
        part[2 * (blockIdx.y * BLOCKS + blockIdx.x) + 1] = square;
    }
}

__global__ void rest(const float *x, const float *part, const float *w, const float *b, float *y, int64_t n, float eps)
{
    const float *p = part + 2 * blockIdx.y * BLOCKS;
    float mean = 0, square = 0;

    for (int k = 0; k < BLOCKS; k++)
        mean += p[2 * k];
    mean /= BLOCKS;
    for (int k = 0; k < BLOCKS; k++)
        square += p[2 * k + 1] + (p[2 * k] - mean) * (p[2 * k] - mean) * (n / BLOCKS);
    const float scale = rsqrtf(square / n + eps);
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < n; i += (int64_t)gridDim.x * THREADS)
        y[blockIdx.y * n + i] = (x[blockIdx.y * n + i] - mean) * scale * w[i] + b[i];
}

torch::Tensor layer_norm_cuda(torch::Tensor x, torch::Tensor w, torch::Tensor b, double eps)
{
    auto y = torch::empty_like(x);
    const int64_t rows = x.size(0), n = x.numel() / rows;
    auto part = torch::empty({rows, BLOCKS, 2}, x.options());

    parts<<<dim3(BLOCKS, (unsigned)rows), THREADS>>>(x.data_ptr<float>(), part.data_ptr<float>(), n);
    rest<<<dim3(1024, (unsigned)rows), THREADS>>>(x.data_ptr<float>(), part.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(),
                                                  y.data_ptr<float>(), n, (float)eps);
    return y;
}
"""
ext = load_inline(name="layer_norm_parts",
                  cpp_sources="torch::Tensor layer_norm_cuda(torch::Tensor x, torch::Tensor w, torch::Tensor b, double eps);",
                  cuda_sources=cuda_source, functions=["layer_norm_cuda"])


class ModelNew(torch.nn.Module):
    def __init__(self, normalized_shape):
        super().__init__()
        self.ln = torch.nn.LayerNorm(normalized_shape=normalized_shape)

    def forward(self, x):
        return ext.layer_norm_cuda(x.contiguous(), self.ln.weight, self.ln.bias, self.ln.eps)
