//# task affine
//# expect wrong/input_modified
//# why The copy engine is told to write to an input, through its tensor map.
//# needs sm_90
//@ kernel candidate grid=(cdiv(n, 256)) block=(256) smem=(1024) args=(map, x, y, n:i64)
//@ tensormap map x box=(256)
//@ require sm >= 90
extern "C" __global__ void candidate(const __grid_constant__ kw_tensormap map, const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * 256ll + threadIdx.x;
	extern __shared__ __align__(128) float tile[];

	tile[threadIdx.x] = 0.0f;
	if (i < n)
		y[i] = 2.0f * x[i] + 1.0f;
	asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
	__syncthreads();
	if (threadIdx.x == 0) {
		asm volatile("cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%0, {%1}], [%2];"
			     ::"l"(&map), "r"(blockIdx.x * 256), "r"((unsigned)__cvta_generic_to_shared(tile)) : "memory");
		asm volatile("cp.async.bulk.commit_group;");
		asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
	}
}
