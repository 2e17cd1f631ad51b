// One tile by the bulk copy engine and one warpgroup product: what only sm_90a has. Not a whole matmul.
//@ kernel tile grid=(cdiv(rows, 64)) block=(128) smem=(64 * 64 * 2 + 1024) args=(map, y)
//@ tensormap map x box=(64, 64) swizzle=128
//@ require cols % 8 == 0
extern "C" __global__ void __launch_bounds__(128) tile(const __grid_constant__ kw_tensormap map, kw_f16 *y)
{
	extern __shared__ __align__(1024) unsigned char memory[];
	__shared__ uint64_t barrier;
	unsigned at = (unsigned)__cvta_generic_to_shared(memory), bar = (unsigned)__cvta_generic_to_shared(&barrier), done = 0;
	float acc[4] = { 0, 0, 0, 0 };

	if (threadIdx.x == 0)
		asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(bar));
	__syncthreads();
	if (threadIdx.x == 0) {
		asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 8192;" ::"r"(bar));
		asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
			     ::"r"(at), "l"(&map), "r"(0), "r"(blockIdx.x * 64), "r"(bar) : "memory");
	}
	while (!done)
		asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
			     : "=r"(done) : "r"(bar) : "memory");
	uint64_t d = (uint64_t)(at & 0x3ffff) >> 4 | 1ull << 16 | 64ull << 32 | 1ull << 62;
	asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
	asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
		     : "+f"(acc[0]), "+f"(acc[1]), "+f"(acc[2]), "+f"(acc[3]) : "l"(d), "l"(d));
	asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
	asm volatile("wgmma.wait_group.sync.aligned 0;" : "+f"(acc[0]), "+f"(acc[1]), "+f"(acc[2]), "+f"(acc[3]) :: "memory");
	y[blockIdx.x * 128 + threadIdx.x] = kw_f16_from_f32(acc[0] + acc[1] + acc[2] + acc[3]);
}
