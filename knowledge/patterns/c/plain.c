//@ pattern plain family=any backend=c
//@ title The operation as one writes it first: a loop nest a step, its outer loop shared out to the cores
//@ why It is right where no other pattern fits: an operation that moves, windows or scans its data, or contracts it in a way of its own.
//@ why Elementwise steps are computed where they are used; only what is used several times is written to memory.
//@ why What an inner loop does not change is computed before it.
//@ why It is where a model or a person starts: nothing in it is tiled or kept in registers yet.
//@ roles x=input y=output
//< kernels
//@ kernel plain args=(x, y, rows * segs * cols:i64)

void plain(const float *x, float *y, int64_t count)
{
#pragma omp parallel for
	for (int64_t i = 0; i < count; i++)
		y[i] = x[i] > 0.0f ? x[i] : 0.0f;
}
//>
