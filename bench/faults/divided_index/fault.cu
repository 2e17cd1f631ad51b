// planted: each element's index is divided twice by sizes that only the launch knows, in 64 bits
// expected: integer_division
//@ kernel add_bias grid=(max(cores, 1) * 8) block=(256) args=(x, bias, y, batch * channels * area:i64, channels:i64, area:i64)
__global__ void add_bias(const float *__restrict__ x, const float *__restrict__ bias, float *__restrict__ y, long long n,
			 long long channels, long long area)
{
	for (long long i = (long long)blockIdx.x * 256 + threadIdx.x; i < n; i += (long long)gridDim.x * 256)
		y[i] = x[i] + bias[i / area % channels];
}
