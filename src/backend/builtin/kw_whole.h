/* kw_whole.h - division, remainders and whole numbers of floats as numpy has them: the one text of kw.h, kw_cuda.h, kw_hip.h and kw_opencl.h.
 *
 * A header that includes it has KW_FN and the C names fmodf, fmod, floorf, floor, copysignf and copysign. KW_NO_F64: there is no double.
 * KW_FLOOR32: it has kw_floor_div32 and kw_floor_mod32 of its own. In the program the text stands in place of the #include (kw_build_header). */

/* ---- whole numbers: divided as in Python, rounded down; the remainder has the sign of b. By 0 both are 0, as in numpy ---- */

KW_FN int64_t kw_floor_div64(int64_t a, int64_t b)
{
	return b == 0 ? 0 : b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b - (a % b != 0 && (a < 0) != (b < 0));
}
KW_FN int64_t kw_floor_mod64(int64_t a, int64_t b)
{
	int64_t r = b == 0 || b == -1 ? 0 : a % b;

	return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
#ifndef KW_FLOOR32 /* the header has its own */
KW_FN int32_t kw_floor_div32(int32_t a, int32_t b)
{
	return b == 0 ? 0 : b == -1 ? (int32_t)(0 - (uint32_t)a) : a / b - (a % b != 0 && (a < 0) != (b < 0));
}
KW_FN int32_t kw_floor_mod32(int32_t a, int32_t b)
{
	int32_t r = b == 0 || b == -1 ? 0 : a % b;

	return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
#endif

/* Floats: from fmod, which is exact, as in numpy; a quotient that is rounded up may reach a whole number that a / b does not. A
 * remainder of 0 has the sign of b too; a / 0 is Inf or NaN, and its remainder NaN. */
KW_FN float kw_floor_modf(float a, float b)
{
	float r = fmodf(a, b);

	r = r != 0 && (r < 0) != (b < 0) ? r + b : r;
	return r == 0 ? copysignf(0.0f, b) : r;
}
KW_FN float kw_floor_divf(float a, float b)
{
	float r = fmodf(a, b), q = (a - r) / b - (r != 0 && (r < 0) != (b < 0)), n = floorf(q);

	n += q - n > (float)0.5;
	return b == 0 ? a / b : q == 0 ? copysignf(0.0f, a / b) : n;
}
#ifndef KW_NO_F64
KW_FN double kw_floor_mod(double a, double b)
{
	double r = fmod(a, b);

	r = r != 0 && (r < 0) != (b < 0) ? r + b : r;
	return r == 0 ? copysign(0.0, b) : r;
}
KW_FN double kw_floor_div(double a, double b)
{
	double r = fmod(a, b), q = (a - r) / b - (r != 0 && (r < 0) != (b < 0)), n = floor(q);

	n += q - n > (double)0.5;
	return b == 0 ? a / b : q == 0 ? copysign(0.0, a / b) : n;
}
#endif

/* ---- floats as whole numbers: towards 0, the ends of the range for what is beyond, 0 for NaN ---- */

#define KW_WHOLE_(name, T, from, F, low, high, below)                                 \
	KW_FN T kw_##name##_from_##from(F v) /* below: F's largest that T holds */    \
	{                                                                             \
		F up = v > (F)(low) ? v : (F)(low);                                   \
		T r = (T)(up < (F)(below) ? up : (F)(below));                         \
                                                                                      \
		r = v > (F)(below) ? (T)(high) : r;                                   \
		return v != v ? 0 : r;                                                \
	}
KW_WHOLE_(u8, uint8_t, f32, float, 0, 255, 255)
KW_WHOLE_(i8, int8_t, f32, float, -128, 127, 127)
KW_WHOLE_(i16, int16_t, f32, float, -32768, 32767, 32767)
KW_WHOLE_(i32, int32_t, f32, float, (-2147483647 - 1), 2147483647, 2147483520.0f)
KW_WHOLE_(i64, int64_t, f32, float, (-9223372036854775807 - 1), 9223372036854775807, 9223371487098961920.0f)
#ifndef KW_NO_F64
KW_WHOLE_(u8, uint8_t, f64, double, 0, 255, 255)
KW_WHOLE_(i8, int8_t, f64, double, -128, 127, 127)
KW_WHOLE_(i16, int16_t, f64, double, -32768, 32767, 32767)
KW_WHOLE_(i32, int32_t, f64, double, (-2147483647 - 1), 2147483647, 2147483647)
KW_WHOLE_(i64, int64_t, f64, double, (-9223372036854775807 - 1), 9223372036854775807, 9223372036854774784.0)
#endif
#undef KW_WHOLE_
