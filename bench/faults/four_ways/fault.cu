// planted: neighbouring lanes have neighbouring columns, which take four ways in turn
// expected: divergence
//@ kernel series grid=(rows * groups / 256) block=(1024) args=(x, y)
//@ require rows * groups % 256 == 0
#define TERMS 64
__global__ void series(const float *__restrict__ x, float *__restrict__ y)
{
	int way = threadIdx.x % 4, group = threadIdx.x / 4;
	long long i = (long long)blockIdx.x * 1024 + group * 4 + way;
	float v = x[i], sum = 0;

	switch (way) {
	case 0:
#pragma unroll
		for (int k = TERMS - 1; k >= 0; k--)
			sum = fmaf(sum, v, 1.0f / (k + 1));
		break;
	case 1:
#pragma unroll
		for (int k = TERMS - 1; k >= 0; k--)
			sum = fmaf(sum, v, (k % 2 ? -1.0f : 1.0f) / (k + 1));
		break;
	case 2:
#pragma unroll
		for (int k = TERMS - 1; k >= 0; k--)
			sum = fmaf(sum, v, 1.0f / (2 * k + 1));
		break;
	default:
#pragma unroll
		for (int k = TERMS - 1; k >= 0; k--)
			sum = fmaf(sum, v, (k % 2 ? -1.0f : 1.0f) / (2 * k + 1));
	}
	y[i] = sum;
}
