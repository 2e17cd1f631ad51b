#include "core/hardware.h"

#include <stdio.h>
#include <string.h>

#include "core/fields.h"

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

	if (kw_fields_put(obj, fields, KW_FIELD_COUNT(fields), h))
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

void kw_hardware_env(const struct kw_hardware *h, struct kw_intenv_var vars[8], struct kw_intenv *env)
{
	vars[0] = (struct kw_intenv_var){ "sm", sm_of(h->arch) };
	vars[1] = (struct kw_intenv_var){ "cores", h->units };
	vars[2] = (struct kw_intenv_var){ "simd_bytes", h->simd_bytes };
	*env = (struct kw_intenv){ .vars = vars, .count = 3 };
}
