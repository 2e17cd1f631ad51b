/* cuda_on_cpu.h - enough of CUDA C++ to run a kernel without barriers and shared memory in loops, compiled by a C++ compiler
 * behind kw.h. Where lanes exchange values, the threads of a warp take turns on stacks of their own. */
#include <functional>
#include <ucontext.h>

#define __global__
#define __device__

struct place { unsigned x, y, z; };
static place gridDim, blockDim, blockIdx, threadIdx;

static inline float __fadd_rn(float a, float b)
{
	return a + b;
}

struct lane {
	ucontext_t at;
	bool ends;
	alignas(16) char stack[32768];
};
static lane lanes[32];
static ucontext_t warp;
static float offered[2][32];
static int turn[32], now;
static std::function<void()> body;

/* All lanes give theirs before one of them takes; the next exchange has other places. */
static inline float __shfl_sync(unsigned, float v, int from)
{
	int place = turn[now]++ % 2;

	offered[place][now] = v;
	swapcontext(&lanes[now].at, &warp);
	return offered[place][from];
}

static void enter()
{
	body();
	lanes[now].ends = true;
}

static void run_warp(unsigned first)
{
	for (int i = 0; i < 32; i++) {
		getcontext(&lanes[i].at);
		lanes[i].at.uc_stack.ss_sp = lanes[i].stack;
		lanes[i].at.uc_stack.ss_size = sizeof(lanes[i].stack);
		lanes[i].at.uc_link = &warp;
		lanes[i].ends = false;
		turn[i] = 0;
		makecontext(&lanes[i].at, enter, 0);
	}
	for (bool more = true; more;) {
		more = false;
		for (now = 0; now < 32; now++) {
			threadIdx.x = first + (unsigned)now;
			if (!lanes[now].ends)
				swapcontext(&warp, &lanes[now].at);
			more = more || !lanes[now].ends;
		}
	}
}

#define LAUNCH_WARPS(grid, block, call)                                                             \
	body = [&] { call; };                                                                       \
	for (gridDim.x = (unsigned)(grid), blockDim.x = (unsigned)(block), blockIdx.x = 0;          \
	     blockIdx.x < gridDim.x; blockIdx.x++)                                                  \
		for (unsigned first = 0; first < blockDim.x; first += 32)                           \
			run_warp(first)

struct pointer { /* to whatever the parameter points to */
	void *p;
	template <typename T> operator T *() const { return (T *)p; }
};

#define LAUNCH(grid, block, call)                                                                   \
	for (gridDim.x = (unsigned)(grid), blockDim.x = (unsigned)(block), blockIdx.x = 0;          \
	     blockIdx.x < gridDim.x; blockIdx.x++)                                                  \
		for (threadIdx.x = 0; threadIdx.x < blockDim.x; threadIdx.x++)                      \
			call
