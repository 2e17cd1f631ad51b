#include "author/lang.h"

#include <stddef.h>
#include <string.h>

static const char *const cuda_names[][2] = {
	{ "kw_expf", "expf" },	   { "kw_exp2f", "exp2f" },
	{ "kw_expm1f", "expm1f" }, { "kw_logf", "logf" },
	{ "kw_log2f", "log2f" },   { "kw_log10f", "log10f" },
	{ "kw_log1pf", "log1pf" }, { "kw_tanhf", "tanhf" },
	{ "kw_erff", "erff" },	   { "kw_sinf", "sinf" },
	{ "kw_cosf", "cosf" },	   { "kw_powf", "powf" },
	{ "kw_rsqrtf", "rsqrtf" }, { "kw_exp", "exp" },
	{ "kw_log", "log" },	   { "kw_tanh", "tanh" },
	{ "kw_erf", "erf" },	   { "kw_sin", "sin" },
	{ "kw_cos", "cos" },	   { "kw_pow", "pow" },
	{ "kw_rsqrt", "rsqrt" },   { NULL, NULL },
};
/* 1e-5 of the value, where half a unit of f16 is 2e-4 of it, and of bf16 2e-3. */
static const char *const cuda_rough[][2] = {
	{ "kw_expf", "kw_exp_roughf" },
	{ "kw_exp_negf", "kw_exp_roughf" },
	{ "kw_sigmoidf", "kw_sigmoid_roughf" },
	{ "kw_siluf", "kw_silu_roughf" },
	{ NULL, NULL },
};

/* OpenCL C has one name for all types. */
static const char *const opencl_names[][2] = {
	{ "sqrtf", "sqrt" },  { "fabsf", "fabs" },    { "floorf", "floor" },  { "ceilf", "ceil" },
	{ "rintf", "rint" },  { "truncf", "trunc" },  { "tanf", "tan" },      { "atanf", "atan" },
	{ "kw_expf", "exp" }, { "kw_exp", "exp" },    { "kw_exp2f", "exp2" }, { "kw_logf", "log" },
	{ "kw_log", "log" },  { "kw_tanhf", "tanh" }, { "kw_sinf", "sin" },   { "kw_cosf", "cos" },
	{ "kw_powf", "pow" }, { NULL, NULL },
};

static const struct kw_au_lang languages[] = {
	{ .backend = "c",
	  .comment = "//",
	  .kernel = "void ",
	  .address = "",
	  .restricted = "restrict",
	  .strip = "STRIP",
	  .count = "n",
	  .array = "",
	  .unroll = "",
	  .forms = true,
	  .store = "STORE_STRIP($to, $from, n);" },
	{ .backend = "cuda",
	  .comment = "//",
	  .device = true,
	  .forms = true,
	  .packs = true,
	  .erf1 = "kw_erf1_roughf",
	  .kernel = "extern \"C\" __global__ void __launch_bounds__(THREADS) ",
	  .address = "",
	  .restricted = "__restrict__",
	  .strip = "VEC",
	  .count = "VEC",
	  .array = "alignas(16) ",
	  .unroll = "#pragma unroll\n",
	  .load = "LOAD_VEC($to, $from);",
	  .fetch = "LOAD_ROW($to, $from);",
	  .store = "STORE_VEC($to, $from);",
	  .team = "team<kw_op_$op, $site>($value)",
	  .all = "team_all<kw_op_$op>($value)",
	  .share = "$type(*$name)[VEC] = ($type(*)[VEC])(shared + $offset) + lane;",
	  .names = cuda_names,
	  .rough = cuda_rough,
	  .rough_lines = "//@ flags -prec-div=false\n" },
	{ .backend = "opencl",
	  .comment = "//",
	  .device = true,
	  .kernel = "__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void ",
	  .address = "__global ",
	  .restricted = "restrict",
	  .strip = "VEC",
	  .count = "VEC",
	  .array = "__attribute__((aligned(16))) ",
	  .unroll = "#pragma unroll\n",
	  .load = "kw_load_vec($to, $from, VEC);",
	  .fetch = "kw_load_vec($to, $from, VEC);",
	  .store = "kw_store_vec($to, $from, VEC);",
	  .team = "kw_team_$op($value, LANES, WIDTH, room)",
	  .all = "kw_team_$op($value, THREADS, 1, room)",
	  .names = opencl_names },
	{ .backend = "triton",
	  .comment = "#",
	  .tensors = true,
	  .device = true,
	  .kernel = "",
	  .address = "",
	  .restricted = "",
	  .strip = "COLS",
	  .count = "COLS",
	  .array = "",
	  .unroll = "" },
};

const struct kw_au_lang *kw_au_lang_find(const char *backend)
{
	for (size_t i = 0; i < sizeof(languages) / sizeof(*languages); i++)
		if (strcmp(languages[i].backend, backend) == 0)
			return &languages[i];
	return NULL;
}

const char *kw_au_ctype(enum kw_dtype d)
{
	if (d == KW_F64)
		return "double";
	if (kw_dtype_is_float(d))
		return "float";
	return d == KW_I64 ? "int64_t" : "int32_t";
}

const char *kw_au_storage(enum kw_dtype d)
{
	return kw_dtype_info(d)->ctype;
}
