/* dtype.h - element types, one table.
 *
 * Columns: enum suffix, name in tasks and plans, bits, class, significand bits (with the hidden
 * one; 0 for integers), C type in generated code, alias accepted on input.
 * f8 types are storage only: values are converted, never computed with. */
#ifndef KW_CORE_DTYPE_H
#define KW_CORE_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum kw_dtype_class { KW_CLASS_FLOAT, KW_CLASS_INT, KW_CLASS_BOOL };

#define KW_DTYPE_LIST(X)                                                             \
	X(F64, "f64", 64, KW_CLASS_FLOAT, 53, "double", "float64")                   \
	X(F32, "f32", 32, KW_CLASS_FLOAT, 24, "float", "float32")                    \
	X(F16, "f16", 16, KW_CLASS_FLOAT, 11, "kw_f16", "float16")                   \
	X(BF16, "bf16", 16, KW_CLASS_FLOAT, 8, "kw_bf16", "bfloat16")                \
	X(F8E4M3, "f8e4m3", 8, KW_CLASS_FLOAT, 4, "kw_f8e4m3", "float8_e4m3fn")      \
	X(F8E5M2, "f8e5m2", 8, KW_CLASS_FLOAT, 3, "kw_f8e5m2", "float8_e5m2")        \
	X(I64, "i64", 64, KW_CLASS_INT, 0, "int64_t", "int64")                       \
	X(I32, "i32", 32, KW_CLASS_INT, 0, "int32_t", "int32")                       \
	X(I16, "i16", 16, KW_CLASS_INT, 0, "int16_t", "int16")                       \
	X(I8, "i8", 8, KW_CLASS_INT, 0, "int8_t", "int8")                            \
	X(U8, "u8", 8, KW_CLASS_INT, 0, "uint8_t", "uint8")                          \
	X(BOOL, "bool", 8, KW_CLASS_BOOL, 0, "uint8_t", "bool")

enum kw_dtype {
	KW_DTYPE_NONE = 0,
#define X(e, name, bits, cls, sig, ctype, alias) KW_##e,
	KW_DTYPE_LIST(X)
#undef X
	KW_DTYPE_COUNT
};

struct kw_dtype_info {
	const char *name, *ctype, *alias;
	int bits;
	enum kw_dtype_class cls;
	int significand_bits;
};

const struct kw_dtype_info *kw_dtype_info(enum kw_dtype d); /* never NULL */
const char *kw_dtype_name(enum kw_dtype d);
size_t kw_dtype_bytes(enum kw_dtype d);
/* KW_DTYPE_NONE when unknown; accepts names and aliases. */
enum kw_dtype kw_dtype_parse(struct kw_str s);
/* The nearest known name, for "did you mean"; may be NULL. */
const char *kw_dtype_nearest(const char *word);
bool kw_dtype_is_float(enum kw_dtype d);

/* Scalar conversion, exact where it can be, else round to nearest even; float to integer
 * truncates and saturates; f8e4m3 saturates to NaN as the OCP "fn" format says. */
double kw_dtype_load(enum kw_dtype d, const void *p);
void kw_dtype_store(enum kw_dtype d, void *p, double v);
/* Distance from |v| to the next larger value of d (subnormal spacing near 0); 1 for integers.
 * Infinity and NaN give 0. */
double kw_dtype_ulp(enum kw_dtype d, double v);
/* Largest finite value. */
double kw_dtype_max(enum kw_dtype d);
/* Bulk conversion of n contiguous elements to and from f64 and f32 (vectorised). */
void kw_dtype_to_f64(enum kw_dtype d, const void *src, double *dst, size_t n);
void kw_dtype_from_f64(enum kw_dtype d, const double *src, void *dst, size_t n);
/* Whole numbers as d would hold them when it is stored to: modulo 2^bits, as in C, numpy and PyTorch.
 * For whole dtypes; i64, bool and what is no number stay. Whether one of them was beyond. */
bool kw_dtype_wrap(enum kw_dtype d, double *v, size_t n);

#endif
