/* Launches that a compiler chooses (Triton's): from its facts to what a player on an NVIDIA device is told. */
#include "core/launch.h"
#include "device/nvidia_wire.h"

#include "base/alloc.h"
#include "backend/backend.h"

#include "tap.h"

static struct kw_error err;

static struct kw_kernel_facts facts(int64_t scratch, int64_t profile, int ctas)
{
	return (struct kw_kernel_facts){ .symbol = "f", .registers = 32, .own_launch = true, .block = { 256, 1, 1 },
					 .dynamic_smem_bytes = 1024, .blocks_per_program = ctas, .hidden_args = 2,
					 .scratch_bytes = scratch, .profile_bytes = profile, .code_offset = 640 };
}

static json_t *artefact_facts(const struct kw_kernel_facts *f)
{
	return json_pack("{s:{s:o}}", "kernels", "f", kw_kernel_facts_to_json(f));
}

static void facts_travel(void)
{
	struct kw_kernel_facts f = facts(128, 0, 2), back;
	json_t *j = artefact_facts(&f);

	ok(kw_kernel_facts_get(j, "f", &back) && back.own_launch && back.dynamic_smem_bytes == 1024 && back.hidden_args == 2 &&
		   back.scratch_bytes == 128 && back.blocks_per_program == 2 && back.code_offset == 640,
	   "what a compiler chose is in the facts of an artefact");
	json_decref(j);
	f = (struct kw_kernel_facts){ .symbol = "f" };
	j = kw_kernel_facts_to_json(&f);
	ok(j && !json_object_get(j, "own_launch") && !json_object_get(j, "hidden_args"), "and not where the plan chooses");
	json_decref(j);
}

static void launch_is_the_compilers(void)
{
	struct kw_bound_kernel k = { .name = "f", .grid = { 10, 3, 1 }, .block = { 1, 1, 1 }, .cluster = { 1, 1, 1 } }, got;
	struct kw_kernel_facts f = facts(0, 0, 1), plain = { .block = { 64, 1, 1 } };

	got = kw_launch_actual(&k, &f);
	ok(got.block[0] == 256 && got.smem_bytes == 1024 && got.grid[0] == 10 && got.cluster[0] == 1, "block and shared memory are the compiler's");
	f.blocks_per_program = 2;
	got = kw_launch_actual(&k, &f);
	ok(got.grid[0] == 20 && got.grid[1] == 3 && got.cluster[0] == 2, "programs of two blocks make clusters");
	got = kw_launch_actual(&k, &plain);
	ok(got.block[0] == 1 && got.smem_bytes == 0, "a plan's own launch stays as it is");
}

static void limit_says_what_helps(void)
{
	struct kw_hardware h = { .name = "GPU", .arch = "sm_90a",
				 .limits = { .warp_size = 32, .threads_per_block = 1024, .threads_per_unit = 2048, .blocks_per_unit = 32,
					     .registers_per_block = 65536, .registers_per_unit = 65536, .smem_per_block_bytes = 101376,
					     .grid = { 1 << 20, 65535, 65535 }, .block = { 1024, 1024, 64 } } };
	struct kw_bound_kernel k = { .name = "f", .grid = { 1, 1, 1 }, .cluster = { 1, 1, 1 } }, actual;
	struct kw_kernel_facts f = facts(0, 0, 1);
	enum kw_subclass sub;
	char why[300];

	f.dynamic_smem_bytes = 131072;
	actual = kw_launch_actual(&k, &f);
	ok(!kw_launch_check(&actual, &f, &h, &sub, why, sizeof(why)) && sub == KW_S_LAUNCH_RESOURCES && strstr(why, "131072") &&
		   strstr(why, "101376") && strstr(why, "num_stages"),
	   "too much shared memory: needed, limit, and what needs less (%s)", why);
}

/* load->kernels[0] as bound for a grid. */
static enum kw_status bind(const struct kw_kernel_facts *f, int64_t x, int64_t y, struct gpu_load *l)
{
	struct kw_bound_arg args[] = { { .kind = KW_ARG_TENSOR, .index = 0 }, { .kind = KW_ARG_SCALAR, .dtype = KW_I32, .i = 7 } };
	struct kw_bound_kernel k = { .name = "f", .grid = { x, y, 1 }, .block = { 1, 1, 1 }, .cluster = { 1, 1, 1 }, .args = args,
				     .arg_count = 2 };
	struct kw_bound_plan plan = { .kernels = &k, .kernel_count = 1 };
	struct kw_artefact code = { .facts = artefact_facts(f) };
	struct gpu_layout layout = { 1, 1 };
	enum kw_status s;

	memset(l, 0, sizeof(*l));
	kw_error_reset(&err);
	s = kw_gpu_load_make(&layout, &code, &plan, l, &err);
	json_decref(code.facts);
	return s;
}

static void hidden_pointers(void)
{
	struct gpu_load *l = kw_calloc(1, sizeof(*l));
	struct kw_kernel_facts f = facts(0, 0, 1);
	const struct gpu_kernel *k = &l->kernels[0];

	ok(bind(&f, 4, 1, l) == KW_OK && k->arg_count == 4 && k->args[2].kind == GPU_ARG_BYTES && k->args[2].bits == 0 &&
		   k->args[2].bytes == 8 && k->args[3].kind == GPU_ARG_BYTES && l->scratch_bytes == 0,
	   "scratch of no bytes is a null pointer behind the plan's arguments");
	ok(k->block[0] == 256 && k->smem_bytes == 1024 && k->code_offset == 640, "with the compiler's block, shared memory and place");
	f = facts(100, 0, 1);
	ok(bind(&f, 4, 3, l) == KW_OK && k->args[2].kind == GPU_ARG_SCRATCH && k->args[2].bits == 0 && l->scratch_bytes == 1280,
	   "scratch grows with the grid: 12 blocks of 100 bytes, in whole lines");
	f = facts(128, 64, 2);
	ok(bind(&f, 4, 1, l) == KW_OK && k->grid[0] == 8 && l->scratch_bytes == 1024 + 512 && k->args[3].bits == 1024,
	   "each block of a cluster has its own, and the second kind lies behind the first");
	f = facts((int64_t)1 << 40, 0, 1);
	ok(bind(&f, 4, 1, l) == KW_ERR_LIMIT, "more scratch than any device has: %s", err.text);
	f = facts(0, 0, 1);
	f.hidden_args = 3;
	ok(bind(&f, 4, 1, l) == KW_ERR_LIMIT, "more hidden arguments than are known: %s", err.text);
	kw_free(l);
}

static void variants(void)
{
	struct kw_bound_arg args[] = { { .kind = KW_ARG_TENSOR, .align_bytes = 256 }, { .kind = KW_ARG_SCALAR, .dtype = KW_I32, .i = 4096 } };
	struct kw_bound_kernel k = { .args = args, .arg_count = 2 };
	struct kw_bound_plan plan = { .kernels = &k, .kernel_count = 1 };
	struct kw_buf a, b, c;

	kw_buf_init(&a, 1 << 12);
	kw_buf_init(&b, 1 << 12);
	kw_buf_init(&c, 1 << 12);
	kw_build_variant(kw_backend_find("triton"), &plan, &a);
	args[1].i = 4095;
	kw_build_variant(kw_backend_find("triton"), &plan, &b);
	args[0].align_bytes = 4;
	kw_build_variant(kw_backend_find("triton"), &plan, &c);
	ok(strcmp(a.ptr, b.ptr) != 0 && strcmp(b.ptr, c.ptr) != 0, "multiples of 16 are builds of their own: '%s', '%s', '%s'", a.ptr, b.ptr, c.ptr);
	kw_buf_reset(&a);
	kw_build_variant(kw_backend_find("cuda"), &plan, &a);
	ok(a.len == 0, "CUDA's are not");
	kw_buf_release(&a);
	kw_buf_release(&b);
	kw_buf_release(&c);
}

int main(void)
{
	facts_travel();
	launch_is_the_compilers();
	limit_says_what_helps();
	hidden_pointers();
	variants();
	return done();
}
