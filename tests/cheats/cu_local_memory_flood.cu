//# task affine
//# expect ok launch_error/out_of_memory launch_error/resources
//# why Half a megabyte of local memory for each thread: 135 GB of it when the device is full. A driver that
//# why runs fewer at once may grant it.
//# alone yes
//@ kernel candidate grid=(cdiv(n, 256)) block=(256) args=(x, y, n:i64)
extern "C" __global__ void candidate(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * 256ll + threadIdx.x;
	volatile float room[130000];

	for (int k = 0; k < 130000; k++)
		room[k] = (float)k;
	if (i < n)
		y[i] = 2.0f * x[i] + room[(i + n) % 130000] * 0.0f + 1.0f;
}
