/* The library tasks/: every file loads and says what a task of the library must say. Expressions: test_tasks_expr.c. */
#include "base/file.h"
#include "core/task.h"
#include "tap.h"

/* The library holds at least what its readers expect of it; a name here is the name of a file. */
static const char *const wanted[] = {
	"softmax", "log_softmax", "layernorm", "rmsnorm", "groupnorm", "batchnorm_train", "batchnorm_infer",
	"gelu", "gelu_tanh", "silu", "swiglu", "bias_gelu", "residual_rmsnorm", "rope", "sum_last", "sum_first",
	"sum_middle", "mean_last", "mean_first", "mean_middle", "max_last", "max_first", "max_middle", "min_last",
	"min_first", "min_middle", "prod_last", "prod_first", "prod_middle", "argmax_last", "argmax_first",
	"argmax_middle", "variance", "cumsum", "masked_cumsum", "cross_entropy", "mse", "huber", "kl_div",
	"matmul_nn", "matmul_nt", "matmul_tn", "bmm", "matvec", "matmul_bias_relu", "attention",
	"attention_causal", "attention_gqa", "attention_masked", "conv1d", "conv2d", "conv3d", "depthwise_conv2d",
	"conv_transpose2d", "max_pool2d", "avg_pool2d", "transpose", "gather", "embedding", "topk",
	"dequant_matmul_int8",
};
static struct { int odd, one, zero, large, layouts[KW_LAYOUT_COUNT]; } seen;
static unsigned dtypes;

static bool in_range(const struct kw_task *t, const struct kw_case *c)
{
	for (size_t d = 0; d < t->dim_count; d++)
		if (c->dims[d] < t->dims[d].min || c->dims[d] > t->dims[d].max || c->dims[d] % t->dims[d].multiple)
			return false;
	return true;
}

/* Bytes of all tensors of a case; negative when a shape is not one. */
static double footprint(const struct kw_task *t, const struct kw_case *c, double *most)
{
	struct kw_arena a;
	struct kw_intenv env;
	struct kw_error err = { 0 };
	double bytes = 0;

	*most = 0;
	kw_arena_init(&a, 1 << 20);
	if (kw_case_env(t, c, &a, &env, &err) != KW_OK)
		bytes = -1;
	for (size_t i = 0; i < t->input_count + t->output_count && bytes >= 0; i++) {
		const struct kw_tensor_decl *d = i < t->input_count ? &t->inputs[i] : &t->outputs[i - t->input_count];
		struct kw_shape s;
		double n = kw_tensor_shape(d, &env, &s, &err) == KW_OK ? (double)kw_shape_count(&s) : -1;

		bytes = n < 0 ? -1 : bytes + n * (double)kw_dtype_bytes(d->dtype);
		*most = n > *most ? n : *most;
	}
	if (bytes < 0)
		diag("%s: %s", c->label, err.text);
	kw_arena_release(&a);
	return bytes;
}

static void look_at(const struct kw_task *t, const struct kw_case *c, bool *ranges, bool *sizes)
{
	double most, bytes = footprint(t, c, &most);
	bool odd = false;

	*ranges = *ranges && in_range(t, c);
	/* large is for what 32-bit indices cannot reach; what is not large is checked on every run. */
	*sizes = *sizes && bytes >= 0 &&
		 (c->large ? most > 2147483648.0 : bytes <= (c->perf ? 300e6 : 64e6)) && !(c->large && c->perf);
	for (size_t d = 0; d < t->dim_count; d++) {
		odd = odd || (c->dims[d] > 1 && c->dims[d] % 2);
		seen.one += !c->perf && c->dims[d] == 1;
		seen.zero += c->dims[d] == 0;
	}
	seen.odd += odd;
	seen.large += c->large;
	for (size_t i = 0; i < t->input_count; i++)
		seen.layouts[c->layouts[i]]++;
}

static void check_task(const struct kw_task *t, const char *base)
{
	size_t stem = strlen(base) - strlen(".yaml");
	bool ranges = true, sizes = true, labels = true, odd = false;
	int before = seen.odd;

	ok(strlen(t->name) == stem && strncmp(t->name, base, stem) == 0, "%s: named as its file", base);
	ok(t->title[0] && strlen(t->title) <= 90 && !strchr(t->title, '\n'), "%s: has a title", base);
	ok(t->expr && t->output_count > 0, "%s: has an expression and outputs", base);
	ok(t->perf_count >= 1 && t->case_count - t->perf_count >= 5, "%s: has perf cases and five check cases", base);
	for (size_t i = 0; i < t->case_count; i++) {
		look_at(t, &t->cases[i], &ranges, &sizes);
		for (size_t j = 0; j < i; j++)
			labels = labels && (strcmp(t->cases[i].label, t->cases[j].label) != 0);
	}
	odd = seen.odd > before;
	ok(ranges, "%s: every case is inside the declared ranges", base);
	ok(sizes, "%s: shapes can be computed; only large cases are large", base);
	ok(labels, "%s: no case is there twice", base);
	ok(odd, "%s: has a case of odd sizes", base);
	for (size_t i = 0; i < t->input_count; i++)
		dtypes |= 1u << t->inputs[i].dtype;
}

int main(void)
{
	struct kw_arena a;
	struct kw_error err = { 0 };
	char **paths = NULL;
	size_t count = 0;

	kw_arena_init(&a, 4 << 20);
	is_int(kw_data_list("tasks/", ".yaml", &a, &paths, &count, &err), KW_OK, "the library is listed");
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		bool found = false;
		for (size_t j = 0; j < count && !found; j++) {
			const char *base = kw_path_base(paths[j]);
			size_t n = strlen(wanted[i]);
			found = strncmp(base, wanted[i], n) == 0 && strcmp(base + n, ".yaml") == 0;
		}
		ok(found, "the library has %s", wanted[i]);
	}
	for (size_t i = 0; i < count; i++) {
		const char *base = kw_path_base(paths[i]);
		char name[80];
		struct kw_task t;

		snprintf(name, sizeof(name), "%.*s", (int)(strlen(base) - strlen(".yaml")), base);
		if (!ok(kw_task_load(&t, name, &err) == KW_OK, "%s loads", base)) {
			diag("%s: %s", err.where, err.text);
			continue;
		}
		check_task(&t, base);
		kw_task_release(&t);
	}
	ok(seen.one > 20 && seen.zero > 70 && seen.large > 70, "cases of one, of nothing and beyond 2^31");
	for (int i = 0; i < KW_LAYOUT_COUNT; i++)
		ok(seen.layouts[i] > 5, "layout %s is used", kw_layout_name((enum kw_layout_kind)i));
	ok(dtypes & 1u << KW_F16 && dtypes & 1u << KW_BF16 && dtypes & 1u << KW_F64 && dtypes & 1u << KW_I8 &&
		   dtypes & 1u << KW_BOOL && dtypes & 1u << KW_F8E4M3 && dtypes & 1u << KW_I64,
	   "narrow, wide, whole and bool types are used");
	kw_arena_release(&a);
	return done();
}
