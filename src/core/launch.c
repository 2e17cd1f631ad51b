#include "core/launch.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/fields.h"

/* Registers are given to a warp in units, in quarters of a multiprocessor; shared memory to a block
 * in units. */
enum { REGISTER_UNIT = 256, QUARTERS = 4, SMEM_UNIT = 128, SMEM_UNIT_BEFORE_8 = 256 };

static const struct kw_field fact_fields[] = {
#define F(key, kind) KW_FIELD(struct kw_kernel_facts, #key, kind, key)
	F(symbol, CHARS),    F(registers, INT),		F(max_threads, INT),
	F(max_cluster, INT), F(barriers, INT),		F(static_smem_bytes, I64),
	F(stack_bytes, I64), F(spill_store_bytes, I64), F(spill_load_bytes, I64),
	F(param_count, I64), F(param_bytes, I64),
#undef F
};
/* Of compilers that choose the launch; else they are not there. */
static const struct kw_field own_fields[] = {
#define F(key, kind) KW_FIELD(struct kw_kernel_facts, #key, kind, key)
	F(own_launch, BOOL),	F(dynamic_smem_bytes, I64), F(blocks_per_program, INT),
	F(hidden_args, INT),	F(scratch_bytes, I64),	    F(profile_bytes, I64),
	F(code_offset, I64),
#undef F
};

json_t *kw_kernel_facts_to_json(const struct kw_kernel_facts *f)
{
	json_t *obj = json_object();
	bool ok = kw_fields_put(obj, fact_fields, KW_FIELD_COUNT(fact_fields), f);

	if (ok && f->block[0])
		ok = kw_field_set(obj, "block", kw_field_ints(f->block, 3));
	if (ok && f->cluster[0])
		ok = kw_field_set(obj, "cluster", kw_field_ints(f->cluster, 3));
	if (ok && f->own_launch)
		ok = kw_fields_put(obj, own_fields, KW_FIELD_COUNT(own_fields), f);
	if (ok)
		return obj;
	json_decref(obj);
	return NULL;
}

static void get_three(const json_t *obj, const char *key, int64_t out[3])
{
	const json_t *list = json_object_get(obj, key);

	for (size_t i = 0; i < 3 && json_array_size(list) == 3; i++)
		out[i] = json_integer_value(json_array_get(list, i));
}

bool kw_kernel_facts_get(const json_t *facts, const char *kernel, struct kw_kernel_facts *out)
{
	const json_t *one = json_object_get(json_object_get(facts, "kernels"), kernel);

	*out = (struct kw_kernel_facts){ 0 };
	if (!json_is_object(one) ||
	    kw_fields_get(one, kernel, fact_fields, KW_FIELD_COUNT(fact_fields), out, NULL, NULL) !=
		    KW_OK ||
	    kw_fields_get(one, kernel, own_fields, KW_FIELD_COUNT(own_fields), out, NULL, NULL) != KW_OK)
		return false;
	get_three(one, "block", out->block);
	get_three(one, "cluster", out->cluster);
	return true;
}

struct kw_bound_kernel kw_launch_actual(const struct kw_bound_kernel *k, const struct kw_kernel_facts *f)
{
	struct kw_bound_kernel actual = *k;

	if (!f->own_launch)
		return actual;
	for (int i = 0; i < 3; i++)
		actual.block[i] = f->block[i];
	actual.smem_bytes = f->dynamic_smem_bytes;
	if (f->blocks_per_program > 1) {
		actual.grid[0] *= f->blocks_per_program;
		actual.cluster[0] = f->blocks_per_program;
	}
	return actual;
}

/* ---- the check ---- */

struct checker {
	const struct kw_bound_kernel *k;
	const struct kw_kernel_facts *f;
	const struct kw_hardware *h;
	int64_t threads, blocks, cluster[3];
	enum kw_subclass *subclass;
	char *why;
	size_t why_bytes;
};

__attribute__((format(printf, 3, 4))) static bool
refuse(const struct checker *c, enum kw_subclass subclass, const char *fmt, ...)
{
	int n = snprintf(c->why, c->why_bytes, "%s: ", c->k->name);
	va_list ap;

	*c->subclass = subclass;
	va_start(ap, fmt);
	if (n > 0 && (size_t)n < c->why_bytes)
		vsnprintf(c->why + n, c->why_bytes - (size_t)n, fmt, ap);
	va_end(ap);
	return false;
}

static int64_t product(const int64_t v[3])
{
	int64_t p = 1;

	for (int i = 0; i < 3; i++)
		if (__builtin_mul_overflow(p, v[i], &p))
			return INT64_MAX;
	return p;
}

static bool check_block(const struct checker *c)
{
	const struct kw_launch_limits *l = &c->h->limits;
	const int64_t *b = c->k->block, *fixed = c->f->block;

	for (int i = 0; i < 3; i++)
		if (b[i] > l->block[i])
			return refuse(c, KW_S_CONFIGURATION,
				      "the block is %lld threads along %c; %s allows %lld",
				      (long long)b[i], "xyz"[i], c -> h -> name,
				      (long long)l -> block[i]);
	if (c->threads > l->threads_per_block)
		return refuse(c, KW_S_CONFIGURATION,
			      "the block has %lld threads; %s allows %d in a block",
			      (long long)c->threads, c->h->name, l->threads_per_block);
	if (c->f->max_threads && c->threads > c->f->max_threads)
		return refuse(c, KW_S_CONFIGURATION,
			      "the block has %lld threads; the kernel was compiled for %d at most "
			      "(__launch_bounds__)",
			      (long long)c->threads, c->f->max_threads);
	if (fixed[0] && (b[0] != fixed[0] || b[1] != fixed[1] || b[2] != fixed[2]))
		return refuse(c, KW_S_CONFIGURATION,
			      "the block is (%lld, %lld, %lld); the kernel was compiled for (%lld, "
			      "%lld, %lld)",
			      (long long)b[0], (long long)b[1], (long long)b[2],
			      (long long)fixed[0], (long long)fixed[1], (long long)fixed[2]);
	return true;
}

static bool check_grid(const struct checker *c)
{
	for (int i = 0; i < 3; i++)
		if (c->k->grid[i] > c->h->limits.grid[i])
			return refuse(c, KW_S_CONFIGURATION,
				      "the grid is %lld blocks along %c; %s allows %lld",
				      (long long)c->k->grid[i], "xyz"[i], c -> h -> name,
				      (long long)c -> h -> limits.grid[i]);
	return true;
}

static bool check_cluster(const struct checker *c)
{
	const struct kw_launch_limits *l = &c->h->limits;
	const int64_t *want = c->k->cluster, *fixed = c->f->cluster;
	int64_t blocks = product(c->cluster);

	if (product(want) > 1 && fixed[0] &&
	    (want[0] != fixed[0] || want[1] != fixed[1] || want[2] != fixed[2]))
		return refuse(
			c, KW_S_CONFIGURATION,
			"cluster=(%lld, %lld, %lld), but the kernel was compiled for (%lld, %lld, "
			"%lld) (__cluster_dims__)",
			(long long)want[0], (long long)want[1], (long long)want[2],
			(long long)fixed[0], (long long)fixed[1], (long long)fixed[2]);
	if (blocks > 1 && !l->cluster_blocks)
		return refuse(c, KW_S_CONFIGURATION,
			      "it asks for clusters of %lld blocks; %s has no clusters",
			      (long long)blocks, c->h->name);
	if (blocks > 1 && blocks > l->cluster_blocks)
		return refuse(c, KW_S_CONFIGURATION, "a cluster has %lld blocks; %s allows %d",
			      (long long)blocks, c->h->name, l->cluster_blocks);
	if (c->f->max_cluster && blocks > c->f->max_cluster)
		return refuse(c, KW_S_CONFIGURATION,
			      "a cluster has %lld blocks; the kernel was compiled for %d at most "
			      "(__launch_bounds__)",
			      (long long)blocks, c->f->max_cluster);
	for (int i = 0; i < 3; i++)
		if (c->k->grid[i] % c->cluster[i])
			return refuse(
				c, KW_S_CONFIGURATION,
				"the grid's %lld blocks along %c are no multiple of the cluster's "
				"%lld",
				(long long)c->k->grid[i], "xyz"[i], (long long)c -> cluster[i]);
	return true;
}

static int64_t round_up(int64_t v, int64_t unit)
{
	return (v + unit - 1) / unit * unit;
}

static bool is_nvidia(const struct kw_hardware *h)
{
	return strncmp(h->arch, "sm_", 3) == 0;
}

static int64_t warps_of(const struct checker *c)
{
	return (c->threads + c->h->limits.warp_size - 1) / c->h->limits.warp_size;
}

/* Warps that a multiprocessor's registers hold. */
static int64_t warps_in_registers(const struct checker *c)
{
	int64_t a_warp = round_up((int64_t)c->f->registers * c->h->limits.warp_size, REGISTER_UNIT);

	return a_warp > 0 ? c->h->limits.registers_per_unit / QUARTERS / a_warp * QUARTERS
			  : INT32_MAX;
}

static bool check_registers(const struct checker *c)
{
	const struct kw_launch_limits *l = &c->h->limits;
	int64_t a_warp = (int64_t)c->f->registers * l->warp_size, need, most;

	if (is_nvidia(c->h))
		a_warp = round_up(a_warp, REGISTER_UNIT);
	need = a_warp * (is_nvidia(c->h) ? round_up(warps_of(c), QUARTERS) : warps_of(c));
	if (need <= l->registers_per_block)
		return true;
	most = l->registers_per_block / (a_warp * QUARTERS) * QUARTERS * l->warp_size;
	return refuse(
		c, KW_S_LAUNCH_RESOURCES,
		"%d registers a thread and %lld threads take %lld registers; %s allows %lld in "
		"a block: %lld threads at most, or fewer registers by __launch_bounds__(%lld)",
		c->f->registers, (long long)c->threads, (long long)need, c->h->name,
		(long long)l->registers_per_block, (long long)most, (long long)c->threads);
}

static bool check_smem(const struct checker *c)
{
	int64_t limit = c->h->limits.smem_per_block_bytes, fixed = c->f->static_smem_bytes,
		asked = c->k->smem_bytes;

	if (asked <= limit && fixed + asked <= limit)
		return true;
	if (c->f->own_launch)
		return refuse(c, KW_S_LAUNCH_RESOURCES,
			      "out of shared memory: a program takes %lld bytes and %s allows %lld; smaller blocks or "
			      "a smaller num_stages need less",
			      (long long)(fixed + asked), c->h->name, (long long)limit);
	return refuse(c, KW_S_LAUNCH_RESOURCES,
		      "the block takes %lld bytes of shared memory (%lld declared in the kernel, "
		      "smem=%lld); %s allows %lld",
		      (long long)(fixed + asked), (long long)fixed, (long long)asked, c->h->name,
		      (long long)limit);
}

static bool check_cooperative(const struct checker *c)
{
	struct kw_occupancy o = kw_launch_occupancy(c->k, c->f, c->h);
	int64_t held = (int64_t)o.blocks * c->h->units;

	if (!c->k->cooperative || !o.blocks || c->blocks <= held)
		return true;
	return refuse(
		c, KW_S_LAUNCH_RESOURCES,
		"a cooperative launch needs all its %lld blocks at once; %s holds %lld (%d on "
		"each of %d, limited by %s)",
		(long long)c->blocks, c->h->name, (long long)held, o.blocks, c->h->units, o.limit);
}

void kw_launch_cluster(const struct kw_bound_kernel *k, const struct kw_kernel_facts *f,
		       int64_t out[3])
{
	bool own = product(k->cluster) > 1 || !f->cluster[0];

	for (int i = 0; i < 3; i++)
		out[i] = own ? k->cluster[i] : f->cluster[i];
}

bool kw_launch_check(const struct kw_bound_kernel *k, const struct kw_kernel_facts *f,
		     const struct kw_hardware *h, enum kw_subclass *subclass, char *why,
		     size_t why_bytes)
{
	struct checker c = { .k = k,
			     .f = f,
			     .h = h,
			     .threads = product(k->block),
			     .blocks = product(k->grid),
			     .subclass = subclass,
			     .why = why,
			     .why_bytes = why_bytes };

	*subclass = KW_S_NONE;
	if (why_bytes)
		why[0] = '\0';
	kw_launch_cluster(k, f, c.cluster);
	if (!h->limits.warp_size || c.blocks == 0)
		return true;
	return check_block(&c) && check_grid(&c) && check_cluster(&c) && check_registers(&c) &&
	       check_smem(&c) && check_cooperative(&c);
}

/* ---- occupancy ---- */

struct kw_occupancy kw_launch_occupancy(const struct kw_bound_kernel *k,
					const struct kw_kernel_facts *f,
					const struct kw_hardware *h)
{
	struct checker c = {
		.k = k, .f = f, .h = h, .threads = product(k->block), .blocks = product(k->grid)
	};
	const struct kw_launch_limits *l = &h->limits;
	struct kw_occupancy o = { 0 };
	int64_t smem, warps, least = INT64_MAX;
	int sm = 0;

	if (!is_nvidia(h) || !l->warp_size || c.threads < 1 || c.threads > l->threads_per_unit ||
	    !l->blocks_per_unit || sscanf(h->arch, "sm_%d", &sm) != 1)
		return o;
	warps = warps_of(&c);
	smem = round_up(f->static_smem_bytes + k->smem_bytes + l->smem_reserved_bytes,
			sm < 80 ? SMEM_UNIT_BEFORE_8 : SMEM_UNIT);
	const struct {
		const char *name;
		int64_t blocks;
	} limits[] = {
		{ "threads", l->threads_per_unit / l->warp_size / warps },
		{ "registers", warps_in_registers(&c) / warps },
		{ "shared memory", smem > 0 ? l->smem_per_unit_bytes / smem : INT32_MAX },
		{ "blocks", l->blocks_per_unit },
	};

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		if (limits[i].blocks < least) {
			least = limits[i].blocks;
			o.limit = limits[i].name;
		}
	o.blocks = (int)least;
	o.share = (double)(least * warps * l->warp_size) / l->threads_per_unit;
	o.waves = least && h->units ? (double)c.blocks / ((double)least * h->units) : 0;
	return o;
}
