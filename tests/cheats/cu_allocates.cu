//# task affine
//# expect build_error/undefined
//# why malloc on the device: memory from outside the judge's buffers.
//@ kernel candidate grid=(cdiv(n, 256)) block=(256) args=(x, y, n:i64)
extern "C" __global__ void candidate(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * 256ll + threadIdx.x;
	float *room = (float *)malloc(64);

	if (room)
		room[0] = 2.0f;
	if (i < n && room)
		y[i] = room[0] * x[i] + 1.0f;
	free(room);
}
