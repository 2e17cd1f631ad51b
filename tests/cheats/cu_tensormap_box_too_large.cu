//# task affine
//# expect refused
//# why A box of more elements than the copy engine takes.
//# needs sm_90
//@ kernel candidate grid=(cdiv(n, 512)) block=(128) smem=(2048) args=(map, y, n:i64)
//@ tensormap map x box=(512)
//@ require sm >= 90
extern "C" __global__ void candidate(const __grid_constant__ kw_tensormap map, float *y, int64_t n)
{
	(void)map;
	for (int64_t i = blockIdx.x * 512ll + threadIdx.x; i < n && i < (blockIdx.x + 1) * 512ll; i += 128)
		y[i] = 0.0f;
}
