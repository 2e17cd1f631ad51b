//# task affine
//# expect launch_error/out_of_memory build_error/resources
//# why A global variable of 200 GB.
//@ kernel candidate grid=(cdiv(n, 256)) block=(256) args=(x, y, n:i64)
static __device__ char room[200ll << 30];

extern "C" __global__ void candidate(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * 256ll + threadIdx.x;

	if (i < n) {
		room[i] = 1;
		y[i] = 2.0f * x[i] + 1.0f;
	}
}
