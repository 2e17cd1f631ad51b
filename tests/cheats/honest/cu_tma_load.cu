//# task affine
//# expect ok
//# why Tiles by the bulk copy engine, through a tensor map.
//# needs sm_90
//@ kernel candidate grid=(cdiv(n, 256)) block=(256) smem=(1024) args=(map, y, n:i64)
//@ tensormap map x box=(256)
//@ require sm >= 90
extern "C" __global__ void candidate(const __grid_constant__ kw_tensormap map, float *y, int64_t n)
{
	extern __shared__ __align__(128) float tile[];
	__shared__ uint64_t barrier;
	unsigned at = (unsigned)__cvta_generic_to_shared(tile), bar = (unsigned)__cvta_generic_to_shared(&barrier), done = 0;
	int64_t i = blockIdx.x * 256ll + threadIdx.x;

	if (threadIdx.x == 0) {
		asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(bar));
		asm volatile("fence.proxy.async;" ::: "memory");
		asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 1024;" ::"r"(bar));
		asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2}], [%3];"
			     ::"r"(at), "l"(&map), "r"(blockIdx.x * 256), "r"(bar) : "memory");
	}
	__syncthreads();
	while (!done)
		asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
			     : "=r"(done) : "r"(bar) : "memory");
	if (i < n)
		y[i] = 2.0f * tile[threadIdx.x] + 1.0f;
}
