/* How fast the matrix units multiply: nothing but products, in registers (mma.sync) or from shared memory (wgmma, on Hopper's
 * own target). Operands are random: products of zeros take less power, and so allow clocks that no real product has. `never`
 * is written under a condition that data does not meet.
 *
 *     kwr_mma_TYPE(uint *never, unsigned rounds)     a warp: 8 chains of m16n8 products a round
 *     kwr_wgmma_TYPE(uint *never, unsigned rounds)   two warpgroups: 8 products m64n256 each a round
 *
 * TYPE: f16 bf16 tf32 f8 i8; of one product k times an element is 32 bytes. What an architecture lacks is left out. */
typedef unsigned int u32;
typedef unsigned long long u64;

__device__ u32 mix(u32 x)
{
	x ^= x >> 16;
	x *= 0x7feb352du;
	x ^= x >> 15;
	x *= 0x846ca68bu;
	return x ^ (x >> 16);
}

/* Random elements of about 0.25 to 1 in size, of either sign. */
template <int TYPE> __device__ u32 random_word(u32 seed);
enum { F16, BF16, TF32, F8, I8 };
template <> __device__ u32 random_word<F16>(u32 s) { return (mix(s) & 0x83ff83ffu) | 0x34003400u; }
template <> __device__ u32 random_word<BF16>(u32 s) { return (mix(s) & 0x807f807fu) | 0x3e803e80u; }
template <> __device__ u32 random_word<TF32>(u32 s) { return (mix(s) & 0x807fe000u) | 0x3e800000u; }
template <> __device__ u32 random_word<F8>(u32 s) { return (mix(s) & 0x87878787u) | 0x30303030u; }
template <> __device__ u32 random_word<I8>(u32 s) { return mix(s); }

/* ---- mma.sync ---- */

#define MMA(name, TYPE, acc, constraint, shape_and_types)                                                                    \
	extern "C" __global__ void __launch_bounds__(256) kwr_mma_##name(u32 *never, unsigned rounds)                          \
	{                                                                                                                      \
		u32 a[4], b[2], seed = blockIdx.x * 256 + threadIdx.x;                                                         \
		acc c[8][4] = {}, sum = 0;                                                                                     \
                                                                                                                               \
		for (int i = 0; i < 4; i++)                                                                                    \
			a[i] = random_word<TYPE>(seed * 8 + i);                                                                \
		for (int i = 0; i < 2; i++)                                                                                    \
			b[i] = random_word<TYPE>(seed * 8 + 4 + i);                                                            \
		for (unsigned r = 0; r < rounds; r++) {                                                                        \
			_Pragma("unroll") for (int k = 0; k < 8; k++)                                                          \
				asm volatile("mma.sync.aligned." shape_and_types                                               \
					     " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                  \
					     : constraint(c[k][0]), constraint(c[k][1]), constraint(c[k][2]),                   \
					       constraint(c[k][3])                                                              \
					     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));               \
		}                                                                                                              \
		for (int k = 0; k < 8; k++)                                                                                    \
			for (int i = 0; i < 4; i++)                                                                            \
				sum += c[k][i];                                                                                \
		if (sum == (acc)1.2345678e9f)                                                                                  \
			*never = (u32)sum;                                                                                     \
	}

#if __CUDA_ARCH__ >= 800
MMA(f16, F16, float, "+f", "m16n8k16.row.col.f32.f16.f16.f32")
MMA(bf16, BF16, float, "+f", "m16n8k16.row.col.f32.bf16.bf16.f32")
MMA(tf32, TF32, float, "+f", "m16n8k8.row.col.f32.tf32.tf32.f32")
MMA(i8, I8, int, "+r", "m16n8k32.row.col.s32.s8.s8.s32")
#endif
#if __CUDA_ARCH__ >= 890
MMA(f8, F8, float, "+f", "m16n8k32.row.col.f32.e4m3.e4m3.f32")
#endif

/* ---- wgmma ---- */

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define D128 \
	"%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, " \
	"%22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, " \
	"%42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, " \
	"%62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, " \
	"%82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, " \
	"%101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, " \
	"%117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define R4(c, d, i) c(d[i]), c(d[i + 1]), c(d[i + 2]), c(d[i + 3])
#define R16(c, d, i) R4(c, d, i), R4(c, d, i + 4), R4(c, d, i + 8), R4(c, d, i + 12)
#define R64(c, d, i) R16(c, d, i), R16(c, d, i + 16), R16(c, d, i + 32), R16(c, d, i + 48)

/* Rows of 128 bytes, swizzled: start, 8 rows are 1024 bytes (PTX ISA, matrix descriptor of wgmma). */
__device__ u64 descriptor(const void *at)
{
	return (u64)((u32)__cvta_generic_to_shared(at) & 0x3ffff) >> 4 | 1ull << 16 | 64ull << 32 | 1ull << 62;
}

#define WGMMA(name, TYPE, acc, constraint, shape_and_types, rest)                                                            \
	extern "C" __global__ void __launch_bounds__(256, 1) kwr_wgmma_##name(u32 *never, unsigned rounds)                     \
	{                                                                                                                      \
		__shared__ __align__(1024) u32 memory[(2 * 64 + 256) * 128 / 4];                                               \
		acc d[128] = {}, sum = 0;                                                                                      \
		u64 a, b;                                                                                                      \
                                                                                                                               \
		for (u32 i = threadIdx.x; i < sizeof(memory) / 4; i += 256)                                                    \
			memory[i] = random_word<TYPE>(blockIdx.x * 65536 + i);                                                 \
		asm volatile("fence.proxy.async;" ::: "memory");                                                               \
		__syncthreads();                                                                                               \
		a = descriptor(memory + threadIdx.x / 128 * (64 * 128 / 4));                                                   \
		b = descriptor(memory + 2 * 64 * 128 / 4);                                                                     \
		for (unsigned r = 0; r < rounds; r++) {                                                                        \
			asm volatile("wgmma.fence.sync.aligned;" ::: "memory");                                                \
			_Pragma("unroll") for (int k = 0; k < 8; k++)                                                          \
				asm volatile("wgmma.mma_async.sync.aligned." shape_and_types " {" D128 "}, %128, %129, " rest ";" \
					     : R64(constraint, d, 0), R64(constraint, d, 64)                                    \
					     : "l"(a + k % 4 * 2), "l"(b + k % 4 * 2)); /* 32 bytes on, in units of 16 */        \
			asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");                                         \
			asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");                                         \
		}                                                                                                              \
		for (int i = 0; i < 128; i++)                                                                                  \
			sum += d[i];                                                                                           \
		if (sum == (acc)1.2345678e9f)                                                                                  \
			*never = (u32)sum;                                                                                     \
	}

WGMMA(f16, F16, float, "+f", "m64n256k16.f32.f16.f16", "1, 1, 1, 0, 0")
WGMMA(bf16, BF16, float, "+f", "m64n256k16.f32.bf16.bf16", "1, 1, 1, 0, 0")
WGMMA(tf32, TF32, float, "+f", "m64n256k8.f32.tf32.tf32", "1, 1, 1")
WGMMA(f8, F8, float, "+f", "m64n256k32.f32.e4m3.e4m3", "1, 1, 1")
WGMMA(i8, I8, int, "+r", "m64n256k32.s32.s8.s8", "1")
#endif
