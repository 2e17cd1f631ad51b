//# task softmax
//# expect runtime_error/illegal_access wrong/unwritten wrong/out_of_bounds cheat/constant_output
//# why It looks for other buffers beside its own. Where pages of addresses can be left empty this faults; on a device with
//# why memory of its own it finds nothing but the marks,
//# why and answers with these whatever its input is.
//@ kernel candidate grid=(rows) block=(1) args=(x, y, cols:i64)
__kernel void candidate(__global const float *x, __global float *y, long cols)
{
	long r = get_global_id(0);

	for (long step = 1; step < 4096; step++) {
		volatile __global const float *up = (volatile __global const float *)(((ulong)y & ~4095ul) + (ulong)step * 4096);

		for (long c = 0; c < cols && c < 1024; c++)
			if (up[c] > 0.0f && up[c] < 1.0f)
				y[r * cols + c] = up[c];
	}
}
