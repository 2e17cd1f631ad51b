#include "backend/opencl.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 5, 6))) static bool fault(struct kw_cl_fault *f, enum kw_verdict_class cls,
							enum kw_subclass subclass, int line, const char *fmt, ...)
{
	va_list ap;

	f->cls = cls;
	f->subclass = subclass;
	f->line = line;
	va_start(ap, fmt);
	vsnprintf(f->message, sizeof(f->message), fmt, ap);
	va_end(ap);
	return false;
}

bool kw_cl_check_plan(const struct kw_plan *plan, struct kw_cl_fault *f)
{
	for (size_t i = 0; i < plan->kernel_count; i++) {
		const struct kw_plan_kernel *k = &plan->kernels[i];
		const char *word = k->cluster_rank ? "cluster=" : k->cooperative ? "cooperative" : k->pdl ? "pdl" : NULL;

		if (!k->grid_rank || !k->block_rank)
			return fault(f, KW_V_BUILD_ERROR, KW_S_BUILD_PLAN, k->line,
				     "kernel '%.100s' has no %s=(...); an OpenCL launch needs both: grid counts work-groups, block "
				     "work-items in one", k->name, k->grid_rank ? "block" : "grid");
		if (word)
			return fault(f, KW_V_BUILD_ERROR, KW_S_BUILD_PLAN, k->line, "kernel '%.100s': OpenCL has no '%s'", k->name,
				     word);
		for (size_t a = 0; a < k->arg_count; a++)
			if (k->args[a].kind == KW_ARG_TENSORMAP)
				return fault(f, KW_V_BUILD_ERROR, KW_S_BUILD_PLAN, k->line,
					     "kernel '%.100s': tensor maps are CUDA's; pass the tensor '%.60s' itself", k->name,
					     k->args[a].name);
	}
	return true;
}

/* ---- kernels and arguments ---- */

static const json_t *find(const json_t *kernels, const char *name)
{
	const json_t *one;
	size_t i;

	json_array_foreach(kernels, i, one)
		if (strcmp(kw_json_get_str(one, "name", ""), name) == 0)
			return one;
	return NULL;
}

static bool no_kernel(const json_t *kernels, const char *name, int line, struct kw_cl_fault *f)
{
	char list[300] = "";
	const json_t *one;
	size_t i, n = 0;

	json_array_foreach(kernels, i, one)
		if (n < sizeof(list))
			n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%.60s", i ? ", " : "",
					      kw_json_get_str(one, "name", ""));
	return fault(f, KW_V_LAUNCH_ERROR, KW_S_ENTRY, line, "no kernel '%.100s' is in the program; there %s%.290s", name,
		     list[0] ? "is: " : "is none (a kernel is marked __kernel)", list);
}

/* Size and sort of OpenCL C's numbers: 'i', 'f' or 0 for what is none of them. "unsigned int" is "uint" to most runtimes. */
static char number_type(const char *type, size_t *bytes)
{
	static const struct {
		const char *name;
		size_t bytes;
		char sort;
	} known[] = {
		{ "char", 1, 'i' }, { "uchar", 1, 'i' }, { "unsigned char", 1, 'i' }, { "short", 2, 'i' }, { "ushort", 2, 'i' },
		{ "unsigned short", 2, 'i' }, { "int", 4, 'i' }, { "uint", 4, 'i' }, { "unsigned int", 4, 'i' },
		{ "long", 8, 'i' }, { "ulong", 8, 'i' }, { "unsigned long", 8, 'i' }, { "size_t", 8, 'i' },
		{ "half", 2, 'f' }, { "float", 4, 'f' }, { "double", 8, 'f' }, { "int8_t", 1, 'i' }, { "uint8_t", 1, 'i' },
		{ "int16_t", 2, 'i' }, { "uint16_t", 2, 'i' }, { "int32_t", 4, 'i' }, { "uint32_t", 4, 'i' },
		{ "int64_t", 8, 'i' }, { "uint64_t", 8, 'i' },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(type, known[i].name) == 0) {
			*bytes = known[i].bytes;
			return known[i].sort;
		}
	return 0;
}

/* One argument as the plan passes it and as the kernel declares it. */
struct pair {
	const char *kernel, *name;        /* name: the plan's, or the parameter's own */
	const struct kw_bound_arg *arg;
	const char *space, *type, *parameter;
	size_t number;
	int line;
};

static bool misfit(const struct pair *p, struct kw_cl_fault *f, const char *why)
{
	return fault(f, KW_V_BUILD_ERROR, KW_S_TYPE, p->line, "kernel '%.60s', parameter %zu '%.60s' (%.60s%s%.60s): %.200s",
		     p->kernel, p->number + 1, p->parameter, strcmp(p->space, "private") ? p->space : "",
		     strcmp(p->space, "private") ? " " : "", p->type, why);
}

/* A pointer to floats of another size reads nonsense; integers of any size are how people move bits. */
static bool check_pointee(const struct pair *p, const char *base, struct kw_cl_fault *f)
{
	size_t bytes = 0;
	char sort, why[160];

	sort = number_type(base, &bytes);
	if (sort != 'f' || !kw_dtype_is_float(p->arg->dtype) || bytes == kw_dtype_bytes(p->arg->dtype))
		return true;
	snprintf(why, sizeof(why), "the plan passes %.60s, whose elements are %s of %zu bytes", p->name,
		 kw_dtype_name(p->arg->dtype), kw_dtype_bytes(p->arg->dtype));
	return misfit(p, f, why);
}

static bool check_buffer(const struct pair *p, struct kw_cl_fault *f)
{
	char base[128], why[200];
	size_t n;

	if (strcmp(p->space, "global") != 0 && strcmp(p->space, "constant") != 0) {
		snprintf(why, sizeof(why), "the plan passes %.60s, a buffer: it must be a __global pointer", p->name);
		return misfit(p, f, why);
	}
	snprintf(base, sizeof(base), "%s", p->type);
	for (n = strlen(base); n > 0 && (base[n - 1] == '*' || base[n - 1] == ' '); n--)
		base[n - 1] = '\0';
	return check_pointee(p, base, f);
}

static bool check_number(const struct pair *p, struct kw_cl_fault *f)
{
	size_t bytes = 0, passed = kw_dtype_bytes(p->arg->dtype);
	char sort, why[200];
	bool floats = kw_dtype_is_float(p->arg->dtype);

	if (strcmp(p->space, "private") != 0) {
		snprintf(why, sizeof(why), "the plan passes a number (%s)", kw_dtype_name(p->arg->dtype));
		return misfit(p, f, why);
	}
	sort = number_type(p->type, &bytes);
	if (!sort || (bytes == passed && (sort == 'f') == floats))
		return true;
	snprintf(why, sizeof(why), "the plan passes %s, which is %zu byte%s", kw_dtype_name(p->arg->dtype), passed,
		 passed == 1 ? "" : "s");
	return misfit(p, f, why);
}

static const char *arg_name(const struct kw_plan_kernel *k, size_t i)
{
	return i < k->arg_count && k->args[i].name ? k->args[i].name : "a number";
}

static bool check_arguments(const struct kw_plan_kernel *k, const struct kw_bound_kernel *b, const json_t *kernel,
			    struct kw_cl_fault *f)
{
	size_t wanted = b->arg_count + (k->smem != NULL), has = (size_t)kw_json_get_i64(kernel, "arg_count", 0);
	const json_t *args = json_object_get(kernel, "args"), *one;
	size_t i;

	if (has != wanted) {
		const char *first = kw_json_get_str(json_array_get(args, wanted), "name", "");

		return fault(f, KW_V_BUILD_ERROR, KW_S_TYPE, k->line,
			     "kernel '%.60s' takes %zu argument%s and the plan passes %zu%s%s%.60s%s", k->name, has,
			     has == 1 ? "" : "s", wanted, k->smem ? " (smem= is the last, a __local pointer)" : "",
			     has > wanted && first[0] ? ": nothing for '" : has < wanted ? ": there is no parameter for " : "",
			     has > wanted ? first : arg_name(k, has), has > wanted && first[0] ? "'" : "");
	}
	json_array_foreach(args, i, one) {
		struct pair p = { .kernel = k->name, .name = arg_name(k, i), .arg = i < b->arg_count ? &b->args[i] : NULL,
				  .space = kw_json_get_str(one, "space", ""), .type = kw_json_get_str(one, "type", ""),
				  .parameter = kw_json_get_str(one, "name", ""), .number = i, .line = k->line };
		bool fits;

		if (!p.arg)
			fits = strcmp(p.space, "local") == 0 ||
			       misfit(&p, f, "smem= is passed last: it must be a __local pointer");
		else if (p.arg->kind == KW_ARG_TENSOR || p.arg->kind == KW_ARG_WORKSPACE)
			fits = check_buffer(&p, f);
		else
			fits = check_number(&p, f);
		if (!fits)
			return false;
	}
	return true;
}

bool kw_cl_check_kernels(const struct kw_plan *plan, const struct kw_bound_plan *bound, const json_t *kernels,
			 struct kw_cl_fault *f)
{
	for (size_t i = 0; i < bound->kernel_count && i < plan->kernel_count; i++) {
		const json_t *one = find(kernels, plan->kernels[i].name);

		if (!one)
			return no_kernel(kernels, plan->kernels[i].name, plan->kernels[i].line, f);
		if (!check_arguments(&plan->kernels[i], &bound->kernels[i], one, f))
			return false;
	}
	return true;
}

/* ---- limits ---- */

static bool too_many(struct kw_cl_fault *f, const struct kw_plan_kernel *k, const struct kw_cl_info *d, const char *what,
		     long long value, long long limit)
{
	return fault(f, KW_V_LAUNCH_ERROR, KW_S_LAUNCH_RESOURCES, k->line, "%.60s: %s is %lld; %.100s allows %lld", k->name, what,
		     value, d->name, limit);
}

static bool check_group(const struct kw_plan_kernel *k, const struct kw_bound_kernel *b, const json_t *kernel,
			const struct kw_cl_info *d, struct kw_cl_fault *f)
{
	static const char *const along[] = { "the work-group's size along x", "the work-group's size along y",
					     "the work-group's size along z" };
	const json_t *fixed = json_object_get(kernel, "fixed");
	int64_t most = kw_json_get_i64(kernel, "group_size", 0), size = 1;

	for (int i = 0; i < 3; i++) {
		if (d->group[i] > 0 && b->block[i] > d->group[i])
			return too_many(f, k, d, along[i], (long long)b->block[i], (long long)d->group[i]);
		if (__builtin_mul_overflow(size, b->block[i], &size))
			size = INT64_MAX;
	}
	if (d->group_size > 0 && size > d->group_size)
		return too_many(f, k, d, "the number of work-items in a work-group", (long long)size, (long long)d->group_size);
	if (most > 0 && size > most)
		return too_many(f, k, d, "the number of work-items in a work-group of this kernel", (long long)size,
				(long long)most);
	for (size_t i = 0; i < 3 && json_integer_value(json_array_get(fixed, 0)) > 0; i++)
		if (json_integer_value(json_array_get(fixed, i)) != b->block[i])
			return fault(f, KW_V_LAUNCH_ERROR, KW_S_CONFIGURATION, k->line,
				     "%.60s: block=(%lld, %lld, %lld), but the kernel has reqd_work_group_size(%lld, %lld, %lld)",
				     k->name, (long long)b->block[0], (long long)b->block[1], (long long)b->block[2],
				     (long long)json_integer_value(json_array_get(fixed, 0)),
				     (long long)json_integer_value(json_array_get(fixed, 1)),
				     (long long)json_integer_value(json_array_get(fixed, 2)));
	return true;
}

/* What a launch is told is their product: where it does not fit, another one would run. */
static bool check_global(const struct kw_plan_kernel *k, const struct kw_bound_kernel *b, struct kw_cl_fault *f)
{
	for (int i = 0; i < 3; i++) {
		int64_t size;

		if (__builtin_mul_overflow(b->grid[i], b->block[i], &size))
			return fault(f, KW_V_LAUNCH_ERROR, KW_S_CONFIGURATION, k->line,
				     "%.60s: %lld work-groups of %lld along %c are more work-items than a launch can have (%lld)", k->name,
				     (long long)b->grid[i], (long long)b->block[i], "xyz"[i], (long long)INT64_MAX);
	}
	return true;
}

bool kw_cl_check_limits(const struct kw_plan *plan, const struct kw_bound_plan *bound, const json_t *kernels,
			const struct kw_cl_info *d, struct kw_cl_fault *f)
{
	for (size_t i = 0; i < bound->kernel_count && i < plan->kernel_count; i++) {
		const struct kw_plan_kernel *k = &plan->kernels[i];
		const struct kw_bound_kernel *b = &bound->kernels[i];
		const json_t *one = find(kernels, k->name);
		int64_t local = kw_json_get_i64(one, "local", 0);

		if (!check_group(k, b, one, d, f) || !check_global(k, b, f))
			return false;
		if (d->local_bytes > 0 && (b->smem_bytes > d->local_bytes || local + b->smem_bytes > d->local_bytes))
			return too_many(f, k, d, "local memory in bytes, smem= and the kernel's own,",
					(long long)(local + b->smem_bytes), (long long)d->local_bytes);
	}
	return true;
}
