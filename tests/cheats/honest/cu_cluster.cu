//# task rowsum
//# expect ok
//# why Four blocks of a cluster read each other's shared memory.
//# needs sm_90
//@ kernel candidate grid=(rows * 4) block=(64) cluster=(4) args=(x, y, cols:i64)
//@ require sm >= 90
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void candidate(const float *x, float *y, int64_t cols)
{
	__shared__ float part[2];
	cg::cluster_group cluster = cg::this_cluster();
	unsigned rank = cluster.block_rank();
	int64_t r = blockIdx.x / 4;
	float s = 0.0f;

	for (int64_t c = rank * 64 + threadIdx.x; c < cols; c += 256)
		s += x[r * cols + c];
	s = kw_warp_sum(s);
	if (threadIdx.x % 32 == 0)
		part[threadIdx.x / 32] = s;
	cluster.sync();
	if (rank == 0 && threadIdx.x == 0) {
		s = 0.0f;
		for (unsigned other = 0; other < 4; other++) {
			const float *there = cluster.map_shared_rank(part, other);

			s += there[0] + there[1];
		}
		y[r] = s;
	}
	cluster.sync(); /* nobody leaves while its memory is read */
}
