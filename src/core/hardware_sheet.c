/* knowledge/hardware/NAME.yaml: the text of a sheet, and finding one. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/yaml.h"
#include "core/hardware.h"

#define FOLDER "knowledge/hardware/"
enum { MAX_NAMES = 32 };

enum kind { CHARS, INT, I64, BYTES, BYTES_PER_S, HERTZ, OPS };

/* What a quantity may be written in, and what to call it. */
static const struct {
	const char *what;
	struct {
		const char *word;
		double factor;
	} units[9];
} quantities[] = {
	[BYTES] = { "bytes (like 80 GB or 227 KiB)",
		    { { "B", 1 },
		      { "KB", 1e3 },
		      { "MB", 1e6 },
		      { "GB", 1e9 },
		      { "TB", 1e12 },
		      { "KiB", 1024.0 },
		      { "MiB", 1048576.0 },
		      { "GiB", 1073741824.0 },
		      { NULL, 0 } } },
	[BYTES_PER_S] = { "bytes per second (like 4.8 TB/s)",
			  { { "MB/s", 1e6 }, { "GB/s", 1e9 }, { "TB/s", 1e12 }, { NULL, 0 } } },
	[HERTZ] = { "a frequency (like 1.98 GHz)",
		    { { "MHz", 1e6 }, { "GHz", 1e9 }, { NULL, 0 } } },
	[OPS] = { "operations per second (like 989.4 TFLOP/s or 1979 TOP/s)",
		  { { "GFLOP/s", 1e9 },
		    { "TFLOP/s", 1e12 },
		    { "PFLOP/s", 1e15 },
		    { "GOP/s", 1e9 },
		    { "TOP/s", 1e12 },
		    { "POP/s", 1e15 },
		    { NULL, 0 } } },
};

struct key {
	const char *name;
	enum kind kind;
	bool required;
	size_t offset, size;
};
#define KEY(key, kind, required, member)                                                           \
	{                                                                                          \
		key, kind, required, offsetof(struct kw_hardware, member),                         \
			sizeof(((struct kw_hardware *)0)->member)                                  \
	}

static const struct key keys[] = {
	KEY("name", CHARS, true, name),
	KEY("vendor", CHARS, true, vendor),
	KEY("arch", CHARS, true, arch),
	KEY("units", INT, true, units),
	KEY("clock", HERTZ, true, clock_hz),
	KEY("memory", BYTES, true, memory_bytes),
	KEY("memory_rate", BYTES_PER_S, true, memory_bytes_per_s),
	KEY("l2", BYTES, true, l2_bytes),
	KEY("last_level_cache", BYTES, false, last_level_cache_bytes),
};
static const struct key limit_keys[] = {
	KEY("warp", INT, true, limits.warp_size),
	KEY("threads_per_block", INT, true, limits.threads_per_block),
	KEY("threads_per_unit", INT, true, limits.threads_per_unit),
	KEY("blocks_per_unit", INT, false, limits.blocks_per_unit),
	KEY("registers_per_thread", INT, true, limits.registers_per_thread),
	KEY("registers_per_block", I64, true, limits.registers_per_block),
	KEY("registers_per_unit", I64, true, limits.registers_per_unit),
	KEY("smem_per_block", BYTES, true, limits.smem_per_block_bytes),
	KEY("smem_per_unit", BYTES, true, limits.smem_per_unit_bytes),
	KEY("smem_reserved", BYTES, false, limits.smem_reserved_bytes),
	KEY("cluster_blocks", INT, false, limits.cluster_blocks),
	KEY("cluster_blocks_portable", INT, false, limits.cluster_blocks_portable),
};
enum {
	KEY_COUNT = sizeof(keys) / sizeof(keys[0]),
	LIMIT_COUNT = sizeof(limit_keys) / sizeof(limit_keys[0])
};

/* ---- values ---- */

static enum kw_status quantity(const struct kw_yaml *n, enum kind kind, double *out,
			       struct kw_error *err)
{
	struct kw_str rest = { n->text, n->text_len }, number;

	if (n->kind != KW_YAML_SCALAR)
		return kw_yaml_fail(n, err, "'%s' should be %s", n->key, quantities[kind].what);
	kw_str_split(&rest, ' ', &number);
	rest = kw_str_trim(rest);
	for (size_t i = 0; rest.len && quantities[kind].units[i].word; i++) {
		if (!kw_str_eqz(rest, quantities[kind].units[i].word))
			continue;
		if (!kw_str_to_f64(number, out) || !isfinite(*out) || *out <= 0)
			break;
		*out *= quantities[kind].units[i].factor;
		return KW_OK;
	}
	return kw_yaml_fail(n, err, "'%s' is %s, not '%.60s'", n->key, quantities[kind].what,
			    n->text);
}

static enum kw_status read_key(const struct kw_yaml *n, const struct key *k, struct kw_hardware *h,
			       struct kw_error *err)
{
	char *at = (char *)h + k->offset;
	int64_t whole = 0;
	double value = 0;
	enum kw_status s;

	switch (k->kind) {
	case CHARS:
		if (n->kind != KW_YAML_SCALAR || n->text_len == 0 || n->text_len >= k->size)
			return kw_yaml_fail(n, err, "'%s' should be a text of 1 to %zu characters",
					    k->name, k->size - 1);
		memcpy(at, n->text, n->text_len + 1);
		return KW_OK;
	case INT:
	case I64:
		s = kw_yaml_i64(n, &whole, err);
		if (s == KW_OK && (whole < 1 || whole > INT32_MAX))
			return kw_yaml_fail(n, err, "'%s' should be a number from 1 to %d", k->name,
					    INT32_MAX);
		if (s == KW_OK && k->kind == INT)
			*(int *)(void *)at = (int)whole;
		else if (s == KW_OK)
			*(int64_t *)(void *)at = whole;
		return s;
	default:
		s = quantity(n, k->kind, &value, err);
		if (s == KW_OK && k->kind == BYTES)
			*(int64_t *)(void *)at = (int64_t)value;
		else if (s == KW_OK)
			*(double *)(void *)at = value;
		return s;
	}
}

/* The keys of a table in a map; what else the map may have is in more. */
static enum kw_status read_keys(const struct kw_yaml *map, const char *what, const struct key *list,
				size_t count, const char *const *more, struct kw_hardware *h,
				struct kw_error *err)
{
	const char *known[MAX_NAMES] = { NULL };
	size_t n = 0;
	enum kw_status s;

	for (size_t i = 0; i < count; i++)
		known[n++] = list[i].name;
	for (size_t i = 0; more && more[i]; i++)
		known[n++] = more[i];
	s = kw_yaml_check_keys(map, known, err);
	for (size_t i = 0; i < count && s == KW_OK; i++) {
		const struct kw_yaml *one = kw_yaml_find(map, list[i].name);

		if (one)
			s = read_key(one, &list[i], h, err);
		else if (list[i].required)
			s = kw_yaml_fail(map, err, "%s has no '%s'", what, list[i].name);
	}
	return s;
}

/* grid: [X, Y, Z] */
static enum kw_status read_three(const struct kw_yaml *map, const char *key, int64_t out[3],
				 struct kw_error *err)
{
	const struct kw_yaml *list = kw_yaml_find(map, key), *one;
	enum kw_status s = KW_OK;
	int i = 0;

	if (!list)
		return kw_yaml_fail(map, err, "limits has no '%s'", key);
	if (list->kind != KW_YAML_SEQ || list->child_count != 3)
		return kw_yaml_fail(list, err, "'%s' should be three numbers: [X, Y, Z]", key);
	for (one = list->first; one && s == KW_OK; one = one->next, i++) {
		s = kw_yaml_i64(one, &out[i], err);
		if (s == KW_OK && out[i] < 1)
			s = kw_yaml_fail(one, err, "'%s' should be three numbers over 0", key);
	}
	return s;
}

static enum kw_status read_rates(const struct kw_yaml *map, struct kw_hardware *h,
				 struct kw_error *err)
{
	struct key list[KW_RATE_COUNT];

	for (int i = 0; i < KW_RATE_COUNT; i++)
		list[i] = (struct key){ kw_rate_name((enum kw_rate)i), OPS, i == KW_RATE_F32,
					offsetof(struct kw_hardware, rates) +
						(size_t)i * sizeof(double),
					sizeof(double) };
	return read_keys(map, "rates", list, KW_RATE_COUNT, NULL, h, err);
}

static enum kw_status read_names(const struct kw_yaml *list, struct kw_arena *a,
				 const char *const **out, struct kw_error *err)
{
	const char **names = kw_arena_calloc(a, MAX_NAMES + 1, sizeof(*names));
	size_t n = 0;

	if (!names)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	if (list->kind != KW_YAML_SEQ || list->child_count == 0 || list->child_count > MAX_NAMES)
		return kw_yaml_fail(list, err, "'device_names' should be a list of 1 to %d texts",
				    MAX_NAMES);
	for (const struct kw_yaml *one = list->first; one; one = one->next) {
		if (one->kind != KW_YAML_SCALAR || one->text_len == 0)
			return kw_yaml_fail(one, err, "a device's name should be a text");
		names[n++] = one->text;
	}
	*out = names;
	return KW_OK;
}

static const struct kw_yaml *need(const struct kw_yaml *root, const char *key, struct kw_error *err)
{
	const struct kw_yaml *n = kw_yaml_find(root, key);

	if (!n)
		kw_yaml_fail(root, err, "the sheet has no '%s'", key);
	return n;
}

enum kw_status kw_hardware_parse(const char *file, const char *text, size_t len, struct kw_arena *a,
				 struct kw_hardware *out, const char *const **names,
				 struct kw_error *err)
{
	static const char *const more[] = { "device_names", "rates", "limits", NULL };
	static const char *const triples[] = { "grid", "block", NULL };
	static const char *const *none;
	struct kw_yaml *root;
	const struct kw_yaml *part;
	enum kw_status s = kw_yaml_parse(file, text, len, a, &root, err);

	*out = (struct kw_hardware){ 0 };
	if (s == KW_OK)
		s = read_keys(root, "the sheet", keys, KEY_COUNT, more, out, err);
	if (s == KW_OK) {
		part = need(root, "rates", err);
		s = part ? read_rates(part, out, err) : KW_ERR_INPUT;
	}
	if (s == KW_OK) {
		part = need(root, "limits", err);
		s = part ? read_keys(part, "limits", limit_keys, LIMIT_COUNT, triples, out, err)
			 : KW_ERR_INPUT;
		if (s == KW_OK)
			s = read_three(part, "grid", out->limits.grid, err);
		if (s == KW_OK)
			s = read_three(part, "block", out->limits.block, err);
	}
	if (s == KW_OK) {
		part = need(root, "device_names", err);
		s = part ? read_names(part, a, names ? names : &none, err) : KW_ERR_INPUT;
	}
	if (!out->last_level_cache_bytes)
		out->last_level_cache_bytes = out->l2_bytes;
	out->flops_f32 = out->rates[KW_RATE_F32];
	out->flops_f64 = out->rates[KW_RATE_F64];
	return s;
}

/* ---- finding ---- */

enum kw_status kw_hardware_list(struct kw_arena *a, const char *const **out, size_t *count,
				struct kw_error *err)
{
	char **paths;
	const char **names;
	enum kw_status s = kw_data_list(FOLDER, ".yaml", a, &paths, count, err);

	if (s != KW_OK)
		return s;
	names = kw_arena_calloc(a, *count + 1, sizeof(*names));
	for (size_t i = 0; names && i < *count; i++) {
		const char *base = kw_path_base(paths[i]);

		names[i] = kw_arena_strndup(a, base, strlen(base) - strlen(".yaml"));
		if (!names[i])
			names = NULL;
	}
	*out = names;
	return names ? KW_OK : kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
}

static enum kw_status read_sheet(const char *name, struct kw_arena *a, struct kw_hardware *out,
				 const char *const **names, struct kw_error *err)
{
	const char *path = kw_arena_printf(a, FOLDER "%s.yaml", name);
	char *text;
	size_t len;
	enum kw_status s = path ? kw_data_read(path, a, &text, &len, err)
				: kw_fail(err, KW_ERR_NOMEM, "", "out of memory");

	return s == KW_OK ? kw_hardware_parse(path, text, len, a, out, names, err) : s;
}

enum kw_status kw_hardware_load(const char *name, struct kw_arena *a, struct kw_hardware *out,
				struct kw_error *err)
{
	const char *const *list, *near;
	size_t count;
	enum kw_status s = kw_hardware_list(a, &list, &count, err);

	for (size_t i = 0; s == KW_OK && i < count; i++)
		if (strcmp(list[i], name) == 0)
			return read_sheet(name, a, out, NULL, err);
	if (s != KW_OK)
		return s;
	near = kw_str_nearest(name, list, count);
	if (near)
		return kw_fail(err, KW_ERR_INPUT, "",
			       "there is no hardware sheet '%.80s'; did you mean '%s'?", name,
			       near);
	return kw_fail(err, KW_ERR_INPUT, "",
		       "there is no hardware sheet '%.80s'; `kwright memory search hardware` lists "
		       "them",
		       name);
}

enum kw_status kw_hardware_match(const char *device_name, struct kw_arena *a,
				 struct kw_hardware *out, struct kw_error *err)
{
	const char *const *list, *const *names;
	size_t count;
	enum kw_status s = kw_hardware_list(a, &list, &count, err);

	for (size_t i = 0; s == KW_OK && i < count; i++) {
		s = read_sheet(list[i], a, out, &names, err);
		for (size_t k = 0; s == KW_OK && names[k]; k++)
			if (strcmp(names[k], device_name) == 0)
				return KW_OK;
	}
	*out = (struct kw_hardware){ 0 };
	return s != KW_OK ? s
			  : kw_fail(err, KW_ERR_NOT_FOUND, "",
				    "there is no hardware sheet of '%.80s'", device_name);
}
