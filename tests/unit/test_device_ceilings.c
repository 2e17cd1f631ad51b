/* Measured ceilings: plausible, kept, and nothing without being asked. How fast is no test. */
#include "device/cpu.h"

#include "base/clock.h"
#include "base/file.h"

#include "tap.h"
#include "temp.h"

int main(void)
{
	static const enum kw_ceiling_kind kinds[] = { KW_CEILING_READ, KW_CEILING_WRITE, KW_CEILING_COPY, KW_CEILING_FLOPS_F32,
						      KW_CEILING_FLOPS_F64 };
	static const char *const names[] = { "read", "write", "copy", "f32", "f64" };
	struct kw_hardware h = { .last_level_cache_bytes = 2 << 20 };
	struct kw_ceiling c = { 0 }, again;
	struct kw_error err = { 0 };
	char path[PATH_MAX + 64];

	setenv("XDG_DATA_HOME", temp_file("data"), 1);
	kw_cpu_probe(&h);
	h.last_level_cache_bytes = 2 << 20; /* small, so that the test is */
	is_int(kw_cpu_ceiling(&h, KW_CEILING_COPY, 1 << 20, false, &c, &err), KW_NO, "nothing is known at first");
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		int64_t bytes = i < 3 ? 1 << 20 : 0, start = kw_now_ns();

		is_int(kw_cpu_ceiling(&h, kinds[i], bytes, true, &c, &err), KW_OK, "%s is measured", names[i]);
		ok(c.per_s > 1e7 && c.per_s < 1e15, "%s: %.3g a second, %s", names[i], c.per_s, c.method);
		is_int(c.bytes, bytes, "%s: the size asked for", names[i]);
		is_int(c.in_cache, i < 3, "%s: labelled", names[i]);
		diag("%s took %.0f ms", names[i], (double)(kw_now_ns() - start) * 1e-6);
		is_int(kw_cpu_ceiling(&h, kinds[i], bytes, false, &again, &err), KW_OK, "%s is known now", names[i]);
		ok(again.per_s == c.per_s, "%s: the same", names[i]);
	}
	is_int(kw_cpu_ceiling(&h, KW_CEILING_COPY, 1 << 30, true, &c, &err), KW_OK, "a large size");
	is_int(c.in_cache, false, "is beyond the cache");
	snprintf(path, sizeof(path), "%s/data/kernelwright/ceilings.json", temp_dir());
	diag("%s", kw_path_exists(path) ? "kept" : "not kept: other programs run here");
	return done();
}
