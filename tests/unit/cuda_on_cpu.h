/* cuda_on_cpu.h - enough of CUDA C++ to run a kernel without barriers and shared memory in loops, compiled by a C++ compiler
 * behind kw.h. */
#define __global__
#define __device__

struct place { unsigned x, y, z; };
static place gridDim, blockDim, blockIdx, threadIdx;

static inline float __fadd_rn(float a, float b)
{
	return a + b;
}

struct pointer { /* to whatever the parameter points to */
	void *p;
	template <typename T> operator T *() const { return (T *)p; }
};

#define LAUNCH(grid, block, call)                                                                   \
	for (gridDim.x = (unsigned)(grid), blockDim.x = (unsigned)(block), blockIdx.x = 0;          \
	     blockIdx.x < gridDim.x; blockIdx.x++)                                                  \
		for (threadIdx.x = 0; threadIdx.x < blockDim.x; threadIdx.x++)                      \
			call
