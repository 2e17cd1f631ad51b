/* The kernels that measure matrix units, for every architecture that has them, without a GPU; which of them a task is held
 * against; and what is kept of measurements. */
#include "backend/backend.h"
#include "backend/cubin.h"
#include "backend/cuda.h"
#include "base/clock.h"
#include "base/file.h"
#include "device/ceiling_store.h"
#include "judge/matrix.h"

#include "tap.h"
#include "temp.h"

static struct kw_error err;

static void test_kernels(const char *arch, int expected)
{
	struct kw_candidate c = { .name = "matrix.cu", .backend = "cuda", .origin = "the judge" };
	struct kw_bound_plan none = { .applicable = true };
	struct kw_build_opts o = { .arch = arch, .trusted = true, .no_cache = true };
	struct kw_build_result r = { 0 };
	struct kw_arena a;
	char *text = NULL;
	int found = 0;
	enum kw_rate rate;

	kw_error_reset(&err);
	kw_arena_init(&a, 4u << 20);
	kw_data_read("src/judge/matrix.cu", &a, &text, &c.source_len, &err);
	c.source = text;
	if (kw_build(kw_backend_find("cuda"), &c, &none, &o, &r, &err) == KW_ERR_ENV && strstr(err.text, "does not build for")) {
		skip(1, "this toolkit does not build for it");
		kw_arena_release(&a);
		return;
	}
	if (!ok(text && r.cls == KW_V_OK && r.artefact.code, "%s: %s", arch, r.artefact.log ? r.artefact.log : err.text))
		return;
	for (size_t i = 0; (rate = kw_matrix_rate_at(i)) != KW_RATE_COUNT; i++) {
		struct kw_cubin cubin;
		struct kw_cubin_kernel k;
		const char *name, *method = "";
		double flops = 0;
		int blocks = 0;
		bool several, there;

		name = kw_matrix_kernel(rate, arch, &flops, &blocks, &method);
		if (!name)
			continue;
		found++;
		there = kw_cubin_open(&cubin, r.artefact.code, r.artefact.code_bytes) && kw_cubin_kernel(&cubin, name, &k, &several);
		ok(there && k.param_count == 2 && k.facts.registers * 256 * blocks <= 65536 && k.facts.stack_bytes == 0 &&
			   k.facts.static_smem_bytes <= 48 << 10, "%s: %s in %d registers, %s", arch, name, k.facts.registers, method);
		ok(flops > 1e5 && flops < 1e8, "operations of a round");
	}
	is_int(found, expected, "%s: kinds of products", arch);
	kw_build_result_release(&r);
	kw_arena_release(&a);
}

static enum kw_rate rate_of(const char *expr, const char *type, const char *more)
{
	char text[600];
	struct kw_task t;
	struct kw_expr *e;
	struct kw_arena a;
	enum kw_rate r;

	snprintf(text, sizeof(text),
		 "name: t\ndims: { n: { min: 1, max: 4096 } }\ninputs: { a: { dtype: %s, shape: [n, n] }, b: { dtype: %s, shape: [n, n] } }\n"
		 "outputs: { y: { dtype: %s, shape: [n, n] } }\n%sreference:\n  expr: |\n    %s\nperf: [ { n: 64 } ]\n",
		 type, type, strcmp(type, "i8") == 0 ? "i32" : type, more, expr);
	kw_error_reset(&err);
	kw_arena_init(&a, 16 << 20);
	if (kw_task_parse_yaml(&t, "t.yaml", text, strlen(text), &err) != KW_OK || kw_expr_parse(&t, &a, &e, &err) != KW_OK) {
		diag("%s", err.text);
		return (enum kw_rate)-1;
	}
	r = kw_matrix_rate_of(&t, e);
	kw_task_release(&t);
	kw_arena_release(&a);
	return r;
}

static void test_rates(void)
{
	is_int(rate_of("y = a @ b", "f16", ""), KW_RATE_F16_MATRIX, "a product in f16");
	is_int(rate_of("y = a @ b", "bf16", ""), KW_RATE_BF16_MATRIX, "in bf16");
	is_int(rate_of("y = a @ b", "f32", ""), KW_RATE_COUNT, "in f32: plain arithmetic");
	is_int(rate_of("y = a @ b", "f32", "precision: { allow: [tf32] }\n"), KW_RATE_TF32_MATRIX, "in f32 where tf32 is allowed");
	is_int(rate_of("y = a @ b", "f32", "precision: { allow: [bf16] }\n"), KW_RATE_BF16_MATRIX, "in f32 where bf16 is");
	is_int(rate_of("y = a @ b", "f64", ""), KW_RATE_COUNT, "in f64");
	is_int(rate_of("y = a + b", "f16", ""), KW_RATE_COUNT, "no product");
}

static void test_kept(void)
{
	static const char *const methods[] = { "this way", "that way", NULL }, *const other[] = { "a third way", NULL };
	struct kw_hardware h = { .name = "A GPU", .arch = "sm_90a", .driver = "1" };
	struct kw_ceiling c = { .kind = KW_CEILING_COPY, .bytes = 65536, .per_s = 4e12, .method = "that way" }, got = { 0 };
	json_t *list;
	char path[PATH_MAX + 64];

	setenv("XDG_DATA_HOME", temp_file("data"), 1);
	ok(!kw_ceiling_kept(&h, "copy", 65536, methods, &got), "nothing at first");
	kw_ceiling_keep(&h, "copy", &c, json_pack("{s:s,s:i}", "driver", "580.1", "clock_mhz", 1755));
	ok(kw_ceiling_kept(&h, "copy", 65536, methods, &got) && got.per_s == 4e12 && got.method == methods[1], "what was kept");
	ok(!kw_ceiling_kept(&h, "copy", 65568, methods, &got) && !kw_ceiling_kept(&h, "read", 65536, methods, &got), "no other size or kind");
	ok(!kw_ceiling_kept(&h, "copy", 65536, other, &got), "by another method: not to be compared with");
	c.per_s = 5e12;
	kw_ceiling_keep(&h, "copy", &c, NULL);
	ok(kw_ceiling_kept(&h, "copy", 65536, methods, &got) && got.per_s == 5e12, "measured again");
	list = kw_ceilings_read("A GPU, sm_90a, 1");
	is_int(json_array_size(list), 1, "in place of the old one");
	json_object_set_new(json_array_get(list, 0), "when_ms", json_integer((json_int_t)(kw_wall_ms() - kw_ceiling_keep_ms - 1000)));
	kw_ceilings_write("A GPU, sm_90a, 1", list);
	ok(!kw_ceiling_kept(&h, "copy", 65536, methods, &got), "a week is long enough");
	snprintf(h.driver, sizeof(h.driver), "2");
	ok(!kw_ceiling_kept(&h, "copy", 65536, methods, &got), "nor with another driver");
	snprintf(path, sizeof(path), "%s/kernelwright/ceilings.json", temp_file("data"));
	kw_file_write(path, "{", 1, &err);
	ok(!kw_ceiling_kept(&h, "copy", 65536, methods, &got), "a broken file is none");
	kw_ceiling_keep(&h, "copy", &c, NULL);
	ok(kw_ceiling_kept(&h, "copy", 65536, methods, &got), "and is made anew");
}

int main(void)
{
	struct kw_cuda_toolkit kit;

	setenv("XDG_CACHE_HOME", temp_file("cache"), 1);
	test_rates();
	test_kept();
	if (kw_cuda_find(NULL, &kit, &err) != KW_OK) {
		skip(1, "no CUDA compiler here");
		return done();
	}
	test_kernels("sm_80", 4);
	test_kernels("sm_89", 5);
	test_kernels("sm_90a", 5);
	test_kernels("sm_100a", 0); /* compiled, but the data sheet holds: see matrix.h */
	test_kernels("sm_120a", 5);
	return done();
}
