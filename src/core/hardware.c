#include "core/hardware.h"

#include <stdio.h>
#include <string.h>

#include "core/fields.h"

const char *kw_rate_name(enum kw_rate r)
{
	static const char *const names[] = {
#define X(e, name) name,
		KW_RATE_LIST(X)
#undef X
	};

	return r < KW_RATE_COUNT ? names[r] : "unknown";
}

static json_t *rates_to_json(const struct kw_hardware *h)
{
	json_t *obj = json_object();
	bool ok = obj != NULL;

	for (int i = 0; ok && i < KW_RATE_COUNT; i++)
		if (h->rates[i] > 0)
			ok = kw_field_set(obj, kw_rate_name((enum kw_rate)i),
					  kw_field_real(h->rates[i]));
	if (ok)
		return obj;
	json_decref(obj);
	return NULL;
}

static json_t *limits_to_json(const struct kw_launch_limits *l)
{
	static const struct kw_field fields[] = {
#define F(key, kind) KW_FIELD(struct kw_launch_limits, #key, kind, key)
		F(warp_size, INT),
		F(threads_per_block, INT),
		F(threads_per_unit, INT),
		F(blocks_per_unit, INT),
		F(registers_per_thread, INT),
		F(registers_per_block, I64),
		F(registers_per_unit, I64),
		F(smem_per_block_bytes, I64),
		F(smem_per_unit_bytes, I64),
		F(smem_reserved_bytes, I64),
		F(cluster_blocks, INT),
		F(cluster_blocks_portable, INT),
#undef F
	};
	json_t *obj = json_object();

	if (kw_fields_put(obj, fields, KW_FIELD_COUNT(fields), l) &&
	    kw_field_set(obj, "grid", kw_field_ints(l->grid, 3)) &&
	    kw_field_set(obj, "block", kw_field_ints(l->block, 3)))
		return obj;
	json_decref(obj);
	return NULL;
}

json_t *kw_hardware_to_json(const struct kw_hardware *h)
{
	static const struct kw_field fields[] = {
#define F(key, kind, member) KW_FIELD(struct kw_hardware, key, kind, member)
		F("name", CHARS, name),
		F("vendor", CHARS, vendor),
		F("driver", CHARS, driver),
		F("arch", CHARS, arch),
		F("units", INT, units),
		F("memory_bytes", I64, memory_bytes),
		F("last_level_cache_bytes", I64, last_level_cache_bytes),
		F("l2_bytes", I64, l2_bytes),
		F("l1d_bytes", I64, l1d_bytes),
		F("simd_bytes", INT, simd_bytes),
		F("clock_hz", F64, clock_hz),
		F("memory_bytes_per_s", F64, memory_bytes_per_s),
		F("flops_f32", F64, flops_f32),
		F("flops_f64", F64, flops_f64),
#undef F
	};
	json_t *obj = json_object();

	bool ok = kw_fields_put(obj, fields, KW_FIELD_COUNT(fields), h), rates = false;

	for (int i = 0; i < KW_RATE_COUNT; i++)
		rates = rates || h->rates[i] > 0;
	if (ok && rates)
		ok = kw_field_set(obj, "rates", rates_to_json(h));
	if (ok && h->limits.warp_size)
		ok = kw_field_set(obj, "limits", limits_to_json(&h->limits));
	if (ok)
		return obj;
	json_decref(obj);
	return NULL;
}

/* "sm_90a" is 90; other devices have no such number, and 0 fails every `require sm >= …`. */
static int64_t sm_of(const char *arch)
{
	int sm = 0;

	return sscanf(arch, "sm_%d", &sm) == 1 ? sm : 0;
}

void kw_hardware_env(const struct kw_hardware *h, struct kw_intenv_var vars[8],
		     struct kw_intenv *env)
{
	vars[0] = (struct kw_intenv_var){ "sm", sm_of(h->arch) };
	vars[1] = (struct kw_intenv_var){ "cores", h->units };
	vars[2] = (struct kw_intenv_var){ "simd_bytes", h->simd_bytes };
	vars[3] = (struct kw_intenv_var){ "smem_bytes", h->limits.smem_per_block_bytes };
	*env = (struct kw_intenv){ .vars = vars, .count = 4 };
}

/* The 'a' targets are for one capability only; before 9.0 there are none. */
void kw_hardware_nvidia_arch(int major, int minor, char out[32])
{
	snprintf(out, 32, "sm_%d%d%s", major, minor, major >= 9 ? "a" : "");
}
