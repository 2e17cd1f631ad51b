// planted: neighbouring lanes write into neighbouring rows
// expected: uncoalesced_stores
//@ kernel transpose grid=(cols / 32, rows / 32) block=(32, 8) args=(x, y, rows:i32, cols:i32)
//@ require rows % 32 == 0 && cols % 32 == 0
__global__ void transpose(const float *__restrict__ x, float *__restrict__ y, int rows, int cols)
{
	int r0 = blockIdx.y * 32, c0 = blockIdx.x * 32, lane = threadIdx.x;

#pragma unroll
	for (int k = 0; k < 32; k += 8)
		y[(long long)(c0 + lane) * rows + r0 + threadIdx.y + k] = x[(long long)(r0 + threadIdx.y + k) * cols + c0 + lane];
}
