//# task matmul_bf16
//# expect ok
//# why Products of whole warpgroups (wgmma) on tiles that the copy engine brings, swizzled; added up in f32.
//# needs sm_90
//@ kernel candidate grid=(n / 64, m / 64) block=(128) smem=(2 * 64 * 64 * 2 + 1024) args=(ta, tb, c, n:i32, k:i32)
//@ tensormap ta a box=(64, 64) swizzle=128
//@ tensormap tb b box=(64, 64) swizzle=128
//@ require sm >= 90 && m % 64 == 0 && n % 64 == 0 && k % 64 == 0
/* A tile is 64 rows of 128 bytes, swizzled: 8 rows are 1024 bytes. */
static __device__ uint64_t describe(unsigned at, unsigned leading, unsigned stride)
{
	return (uint64_t)(at & 0x3ffff) >> 4 | (uint64_t)(leading >> 4) << 16 | (uint64_t)(stride >> 4) << 32 | 1ull << 62;
}

static __device__ void load(unsigned at, const kw_tensormap *map, int column, int row, unsigned bar)
{
	asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
		     ::"r"(at), "l"(map), "r"(column), "r"(row), "r"(bar) : "memory");
}

static __device__ void wait(unsigned bar, unsigned phase)
{
	unsigned done = 0;

	while (!done)
		asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
			     : "=r"(done) : "r"(bar), "r"(phase) : "memory");
}

extern "C" __global__ void __launch_bounds__(128) candidate(const __grid_constant__ kw_tensormap ta,
							    const __grid_constant__ kw_tensormap tb, kw_bf16 *c, int n, int k)
{
	extern __shared__ unsigned char memory[];
	__shared__ uint64_t barrier;
	unsigned at = ((unsigned)__cvta_generic_to_shared(memory) + 1023) / 1024 * 1024, bar, i = blockIdx.y * 64, j = blockIdx.x * 64;
	float s[32] = { 0 };

	bar = (unsigned)__cvta_generic_to_shared(&barrier);
	if (threadIdx.x == 0) {
		asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(bar));
		asm volatile("fence.proxy.async;" ::: "memory");
	}
	__syncthreads();
	for (int p = 0; p < k; p += 64) {
		if (threadIdx.x == 0) {
			asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 16384;" ::"r"(bar));
			load(at, &ta, p, i, bar);
			load(at + 8192, &tb, j, p, bar);
		}
		wait(bar, p / 64 & 1);
		asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
		for (unsigned q = 0; q < 4; q++) /* 16 of the 64 products at a time: 32 bytes of a row of a, 16 rows of b */
			asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
				     "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, "
				     "%21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, %32, %33, 1, 1, 1, 0, 1;"
				     : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3]), "+f"(s[4]), "+f"(s[5]), "+f"(s[6]), "+f"(s[7]),
				       "+f"(s[8]), "+f"(s[9]), "+f"(s[10]), "+f"(s[11]), "+f"(s[12]), "+f"(s[13]), "+f"(s[14]),
				       "+f"(s[15]), "+f"(s[16]), "+f"(s[17]), "+f"(s[18]), "+f"(s[19]), "+f"(s[20]), "+f"(s[21]),
				       "+f"(s[22]), "+f"(s[23]), "+f"(s[24]), "+f"(s[25]), "+f"(s[26]), "+f"(s[27]), "+f"(s[28]),
				       "+f"(s[29]), "+f"(s[30]), "+f"(s[31])
				     : "l"(describe(at + q * 32, 16, 1024)), "l"(describe(at + 8192 + q * 2048, 8192, 1024)));
		asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
		asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
		__syncthreads();
	}
	/* Lane l of warp w has rows 16 w + l / 4 and + 8, columns 8 g + 2 (l % 4) and + 1. */
	for (int g = 0; g < 8; g++)
		for (int e = 0; e < 4; e++) {
			int64_t row = i + threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4 + e / 2 * 8;

			c[row * n + j + g * 8 + threadIdx.x % 4 * 2 + e % 2] = kw_bf16_from_f32(s[g * 4 + e]);
		}
}
