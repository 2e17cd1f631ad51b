//# task rmsnorm_f16
//# expect wrong/precision wrong/nan wrong/mismatch
//# why Squares are summed in f16, which ends at 65504.
//@ kernel candidate grid=(cdiv(rows, 32)) block=(32) args=(x, y, rows:i64, cols:i64)
extern "C" __global__ void candidate(const kw_f16 *x, kw_f16 *y, int64_t rows, int64_t cols)
{
	int64_t r = blockIdx.x * 32ll + threadIdx.x;
	kw_f16 s = __float2half(0.0f);
	float scale;

	if (r >= rows)
		return;
	for (int64_t c = 0; c < cols; c++)
		s = __hfma(x[r * cols + c], x[r * cols + c], s);
	scale = rsqrtf(__half2float(s) / (float)cols + 1e-5f);
	for (int64_t c = 0; c < cols; c++)
		y[r * cols + c] = kw_f16_from_f32(kw_f16_to_f32(x[r * cols + c]) * scale);
}
