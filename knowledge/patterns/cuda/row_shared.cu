//@ pattern row_shared family=row_reduce backend=cuda
//@ title A long row in shared memory: read once past the registers, reduced from there, written once
//@ why The row comes from memory once and leaves once, though it is too long for registers; each pass reads shared memory instead of L2.
//@ why Copies go past the registers and are all issued before the first is waited for, so a whole row is under way at once.
//@ why A thread reads back only what it has copied, so passes need no barrier but those of the reductions.
//@ why What is cheap to compute is computed again in each pass: shared memory holds the inputs, in their own narrow type.
//@ when cols > 4096
//@ roles x=input y=output
//< plan
//@ kernel row_shared grid=(rows) block=(THREADS) smem=(KEPT) args=(x, y, rows:i64, cols:i64)
//@ kernel row_shared_total grid=(1) block=(THREADS) args=(x, y, rows:i64, cols:i64)
//@ define VEC = cols % 4 == 0 && x.align >= 16 && y.align >= 16 ? 4 : 1
//@ define KEPT_BYTES = 4
//@ define STRIPS = max(cdiv(cols, THREADS * VEC), 1)
//@ define KEPT = STRIPS * THREADS * VEC * KEPT_BYTES
//@ require sm >= 80 && KEPT + 1024 <= smem_bytes
//@ require rows * 8 >= cores
//>
//@ tune THREADS in {256, 512, 1024} default 512
//@ tune UNROLL in {2, 4} default 4
//@ tune ONCE in {0, 1} default 1
#ifndef THREADS
#define THREADS 512
#define UNROLL 4
#define ONCE 1
#define VEC 4
#define STRIPS 8
#endif
#define LANES THREADS
#if ONCE /* nothing is read again: leave the caches to others */
#define STORE_VEC(to, from) kw_store_vec_once(to, from)
#else
#define STORE_VEC(to, from) kw_store_vec(to, from)
#endif
#define LOAD_VEC(to, from) kw_load_vec(to, from) /* from shared memory; or weights, which every row reads */
#define LOAD_ROW(to, from) copy(to, from)

/* A vector to shared memory: past the registers where it is made of 16 bytes. */
template <typename T, int N> __device__ void copy(T (&to)[N], const T *from)
{
	if (sizeof(to) % 16 == 0) {
#pragma unroll
		for (int i = 0; i < (int)sizeof(to); i += 16) {
			const unsigned at = (unsigned)__cvta_generic_to_shared((char *)to + i);

			asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"((const char *)from + i) : "memory");
		}
	} else {
		kw_load_vec(to, from);
	}
}

/* What the LANES threads of a row have, joined; each of them gets it. A call has a SITE of its own: it runs once. */
template <typename Op, int SITE, typename T> __device__ T team(T v)
{
	return kw_join<Op, LANES, THREADS, SITE>(v);
}

/* The same for the whole block. */
template <typename Op, typename T> __device__ T team_all(T v)
{
	return kw_join<Op, THREADS, THREADS>(v);
}

//< signature
extern "C" __global__ void __launch_bounds__(THREADS)
	row_shared(const float *__restrict__ x, float *__restrict__ y, int64_t rows, int64_t cols)
//>
{
	extern __shared__ __align__(16) char shared[];
	const int lane = threadIdx.x;
	const int64_t row = blockIdx.x;
	//< row
	const float *__restrict__ x_row = x + row * cols;
	float *__restrict__ y_row = y + row * cols;
	//>
	/* Each thread reads only what it has copied itself, so no barrier is needed between the two. */
	//< share
	float(*x_keep)[VEC] = (float(*)[VEC])(shared + STRIPS * LANES * VEC * 0) + lane;
	//>

#pragma unroll UNROLL
	for (int k = 0; k < STRIPS; k++) {
		const int col = (k * LANES + lane) * VEC;

		if (col < cols) {
			//< fetch
			LOAD_ROW(x_keep[k * LANES], x_row + col);
			//>
		}
	}
	asm volatile("cp.async.wait_all;" ::: "memory");
	//< for stage
	//< lanes
	float sum_lanes[VEC];

#pragma unroll
	for (int i = 0; i < VEC; i++)
		sum_lanes[i] = 0.0f;
	//>
#pragma unroll UNROLL
	for (int k = 0; k < STRIPS; k++) {
		const int col = (k * LANES + lane) * VEC;

		if (col < cols) {
			//< load
			alignas(16) float x_vec[VEC];

			LOAD_VEC(x_vec, x_keep[k * LANES]);
			//>
#pragma unroll
			for (int i = 0; i < VEC; i++) {
				//< body
				sum_lanes[i] += expf(x_vec[i]);
				//>
			}
		}
	}
	//< fold
#pragma unroll
	for (int i = 1; i < VEC; i++)
		sum_lanes[0] += sum_lanes[i];
	const float sum = team<kw_op_sum, 0>(sum_lanes[0]);
	//>
	//>
	//< for finish
	if (lane == 0) {
		//< body
		//>
	}
	//>
	//< for write
#pragma unroll UNROLL
	for (int k = 0; k < STRIPS; k++) {
		const int col = (k * LANES + lane) * VEC;
		//< strip
		alignas(16) float y_strip[VEC];
		//>

		if (col < cols) {
			//< load
			alignas(16) float x_vec[VEC];

			LOAD_VEC(x_vec, x_keep[k * LANES]);
			//>
#pragma unroll
			for (int i = 0; i < VEC; i++) {
				//< body
				y_strip[i] = expf(x_vec[i]) / sum;
				//>
			}
			//< store
			STORE_VEC(y_row + col, y_strip);
			//>
		}
	}
	//>
}
//< for total
//< signature
extern "C" __global__ void __launch_bounds__(THREADS)
	row_shared_total(const float *__restrict__ x, float *__restrict__ y, int64_t rows, int64_t cols)
//>
{
	const int lane = threadIdx.x;

	//< body
	//>
}
//>
