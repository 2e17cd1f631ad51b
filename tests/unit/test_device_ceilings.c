/* Measured ceilings: plausible, kept, and nothing without being asked. How fast is no test. */
#include "device/cpu.h"

#include "base/clock.h"
#include "base/file.h"
#include "device/ceiling_loops.h"
#include "device/device.h"

#include "tap.h"
#include "temp.h"

/* A loop that left a part out would be a ceiling that nobody can reach. */
static void test_loops(void)
{
	enum { WORDS = 3 * 2048 / 8, BYTES = WORDS * 8 };
	static _Alignas(64) uint64_t from[WORDS], to[WORDS];
	void (*const copies[])(void *, const void *, size_t) = { kw_loop_copy, kw_loop_copy_stream, kw_loop_copy_streams };
	uint64_t sum = 0;
	bool all = true;

	for (int i = 0; i < WORDS; i++)
		sum += from[i] = 0x9e3779b97f4a7c15u * (uint64_t)(i + 1);
	ok(kw_loop_read(from, BYTES) == sum && kw_loop_read_streams(from, BYTES) == sum &&
		   kw_loop_read_ahead(from, BYTES) == sum, "every way of reading reads all of it");
	for (size_t k = 0; k < sizeof(copies) / sizeof(copies[0]); k++) {
		memset(to, 0, sizeof(to));
		copies[k](to, from, BYTES);
		ok(memcmp(to, from, BYTES) == 0, "way %zu of copying copies all of it", k);
	}
	memset(to, 0, sizeof(to));
	kw_loop_write(to, BYTES);
	for (int i = 0; i < WORDS; i++)
		all = all && to[i] == 0x3ff0000000000000u;
	memset(to, 0, sizeof(to));
	kw_loop_write_stream(to, BYTES);
	for (int i = 0; i < WORDS; i++)
		all = all && to[i] != 0;
	ok(all, "and of writing");
}

/* What prompts say of a machine: measured where nothing else says it, and the judge's own numbers stay what they are. */
static void test_told(void)
{
	struct kw_device *d = NULL;
	struct kw_hardware told;
	struct kw_error err = { 0 };

	if (!ok(kw_device_open("cpu", &d, &err) == KW_OK, "a device"))
		return;
	d->hardware.flops_f64 = 7; /* as if a sheet said it */
	kw_device_told(d, KW_MEASURE_ONCE, &told);
	ok(told.memory_bytes_per_s > 1e7 && told.flops_f32 > 1e7, "is told with rates: %.3g, %.3g", told.memory_bytes_per_s, told.flops_f32);
	ok(told.flops_f64 == 7.0, "but for those of its sheet");
	ok(d->hardware.memory_bytes_per_s <= 0.0 && d->hardware.flops_f32 <= 0.0, "by which nothing is judged");
	kw_device_close(d);
}

int main(void)
{
	static const enum kw_ceiling_kind kinds[] = { KW_CEILING_READ, KW_CEILING_WRITE, KW_CEILING_COPY, KW_CEILING_FLOPS_F32,
						      KW_CEILING_FLOPS_F64 };
	static const char *const names[] = { "read", "write", "copy", "f32", "f64" };
	struct kw_hardware h = { .last_level_cache_bytes = 2 << 20 };
	struct kw_ceiling c = { 0 }, again;
	struct kw_error err = { 0 };
	char path[PATH_MAX + 64];

	test_loops();
	setenv("XDG_DATA_HOME", temp_file("data"), 1);
	kw_cpu_probe(&h);
	h.last_level_cache_bytes = 2 << 20; /* small, so that the test is */
	is_int(kw_cpu_ceiling(&h, KW_CEILING_COPY, 1 << 20, KW_MEASURE_NEVER, &c, &err), KW_NO, "nothing is known at first");
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		int64_t bytes = i < 3 ? 1 << 20 : 0, start = kw_now_ns();

		is_int(kw_cpu_ceiling(&h, kinds[i], bytes, KW_MEASURE_ONCE, &c, &err), KW_OK, "%s is measured", names[i]);
		ok(c.per_s > 1e7 && c.per_s < 1e15, "%s: %.3g a second, %s", names[i], c.per_s, c.method);
		is_int(c.bytes, bytes, "%s: the size asked for", names[i]);
		is_int(c.in_cache, i < 3, "%s: labelled", names[i]);
		diag("%s took %.0f ms", names[i], (double)(kw_now_ns() - start) * 1e-6);
		is_int(kw_cpu_ceiling(&h, kinds[i], bytes, KW_MEASURE_NEVER, &again, &err), KW_OK, "%s is known now", names[i]);
		ok(again.per_s == c.per_s, "%s: the same", names[i]);
		is_int(kw_cpu_ceiling(&h, kinds[i], bytes, KW_MEASURE_AGAIN, &again, &err), KW_OK, "%s is measured again", names[i]);
		is_int(kw_cpu_ceiling(&h, kinds[i], bytes, KW_MEASURE_ONCE, &c, &err), KW_OK, "%s: and known then", names[i]);
		ok(again.per_s > 0 && again.per_s == c.per_s, "%s: as it was measured last", names[i]);
	}
	is_int(kw_cpu_ceiling(&h, KW_CEILING_COPY, 1 << 30, KW_MEASURE_ONCE, &c, &err), KW_OK, "a large size");
	is_int(c.in_cache, false, "is beyond the cache");
	test_told();
	snprintf(path, sizeof(path), "%s/data/kernelwright/ceilings.json", temp_dir());
	diag("%s", kw_path_exists(path) ? "kept" : "not kept: other programs run here");
	return done();
}
