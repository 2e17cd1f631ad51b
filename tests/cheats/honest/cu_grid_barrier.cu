//# task rowsum
//# expect ok
//# why A cooperative launch with a barrier of all blocks between its two steps.
//@ kernel candidate grid=(min(cores, 64)) block=(128) cooperative args=(x, y, part, rows:i64, cols:i64)
//@ workspace part f32[rows, 4]
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void candidate(const float *x, float *y, float *part, int64_t rows, int64_t cols)
{
	for (int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
		float s = 0.0f;

		for (int64_t c = threadIdx.x; c < cols; c += 128)
			s += x[r * cols + c];
		s = kw_warp_sum(s);
		if (threadIdx.x % 32 == 0)
			part[r * 4 + threadIdx.x / 32] = s;
	}
	cg::this_grid().sync();
	for (int64_t r = blockIdx.x * 128ll + threadIdx.x; r < rows; r += gridDim.x * 128ll)
		y[rows - 1 - r] = part[(rows - 1 - r) * 4] + part[(rows - 1 - r) * 4 + 1] + part[(rows - 1 - r) * 4 + 2] +
				  part[(rows - 1 - r) * 4 + 3];
}
