#define T 32
__global__ void pairs(const float *h, float *total, int n, int variants)
{
	int v = blockIdx.x;
	for (int i = threadIdx.x; i < n; i += blockDim.x)
		for (int j = i + 1; j < n; j++)
			atomicAdd(&total[v], h[v * n + i] * h[v * n + j]);
}
__global__ void pairs_good(const float *h, float *total, int n)
{
	float s = 0.0f;
	for (int i = threadIdx.x; i < n; i += blockDim.x)
		s += h[i];
	for (int o = 16; o; o >>= 1) s += __shfl_down_sync(~0u, s, o);
	if ((threadIdx.x & 31) == 0) atomicAdd(total, s);
}
__global__ void __launch_bounds__(256, 2) index(const float *x, float *y, int n, int w, int h)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	int c = i % w, r = i / w, b = r / h;
	y[i] = x[(b * h + r) * w + c];
}
__global__ void transpose(const float *x, float *y, int n)
{
	__shared__ float tile[T][T];
	int tx = threadIdx.x, ty = threadIdx.y;
	tile[ty][tx] = x[(blockIdx.y * T + ty) * n + blockIdx.x * T + tx];
	__syncthreads();
	y[(blockIdx.x * T + ty) * n + blockIdx.y * T + tx] = tile[tx][ty];
}
__global__ void transpose_padded(const float *x, float *y, int n)
{
	__shared__ float tile[T][T + 1];
	int tx = threadIdx.x, ty = threadIdx.y;
	tile[ty][tx] = x[(blockIdx.y * T + ty) * n + blockIdx.x * T + tx];
	__syncthreads();
	y[(blockIdx.x * T + ty) * n + blockIdx.y * T + tx] = tile[tx][ty];
}
__global__ void rows(const float *x, float *y, int n)
{
	int r = blockIdx.x * blockDim.x + threadIdx.x;
	float s = 0;
	for (int k = 0; k < n; k++) s += x[r * n + k];
	y[r] = s;
}
__global__ void hist(const int *x, int *out, int n)
{
	int local[16];
	for (int b = 0; b < 16; b++) local[b] = 0;
	for (int i = threadIdx.x; i < n; i += blockDim.x) local[x[i]]++;
	for (int b = 0; b < 16; b++) atomicAdd(&out[b], local[b]);
}
__global__ void fine(const float4 *x, float4 *y, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) { float4 v = x[i]; v.x = v.x * 2.0f; y[i] = v; }
}
void run(float *a, float *b, int n) { rows<<<8, 256>>>(a, b, n); }
