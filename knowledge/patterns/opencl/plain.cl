//@ pattern plain family=any backend=opencl
//@ title The operation as one writes it first: a kernel a step, a thread an element
//@ why It is right where no other pattern fits: an operation that moves, windows or scans its data, or contracts it in a way of its own.
//@ why Elementwise steps are computed where they are used; only what several threads need is written to memory.
//@ why Reductions of several axes, or to one number, go in steps, so that each step has many threads.
//@ why It is where a model or a person starts: nothing in it is shared, tiled or kept in registers yet.
//@ roles x=input y=output
//< kernels
//@ kernel plain grid=(cdiv(rows * segs * cols, 256)) block=(256) args=(x, y, rows * segs * cols:i64)

__kernel void plain(__global const float *x, __global float *y, int64_t count)
{
	const int64_t t = get_global_id(0);

	if (t >= count)
		return;
	y[t] = x[t] > 0.0f ? x[t] : 0.0f;
}
//>
