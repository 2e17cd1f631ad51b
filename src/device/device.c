#include "device/device.h"

#include "base/alloc.h"

#include <string.h>

#define X(symbol) extern const struct kw_device_ops symbol;
#include "device/devices.def"
#undef X

static const struct kw_device_ops *const all[] = {
#define X(symbol) &symbol,
#include "device/devices.def"
#undef X
};

const struct kw_device_ops *kw_device_find(const char *name)
{
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (strcmp(all[i]->name, name) == 0)
			return all[i];
	return NULL;
}

enum kw_status kw_device_open(const char *name, struct kw_device **out, struct kw_error *err)
{
	const struct kw_device_ops *ops = kw_device_find(name);
	const char *names[sizeof(all) / sizeof(all[0])], *near;

	*out = NULL;
	if (ops)
		return ops->open(out, err);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		names[i] = all[i]->name;
	near = kw_str_nearest(name, names, sizeof(all) / sizeof(all[0]));
	return kw_fail(err, KW_ERR_USAGE, "", "no device \"%s\"%s%s%s", name, near ? " (did you mean " : "",
		       near ? near : "", near ? "?)" : "");
}

void kw_device_close(struct kw_device *d)
{
	kw_free(d);
}
