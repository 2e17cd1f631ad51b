/* The small parsers of str.h: numbers, words, UTF-8, splitting. */
#include "base/str.h"

#include <math.h>

#include "base/alloc.h"
#include "fuzz.h"

static void split(struct kw_str all)
{
	struct kw_str rest = all, part;
	size_t total = 0, parts = 0;

	while (kw_str_split(&rest, ',', &part)) {
		must(part.ptr >= all.ptr && part.ptr + part.len <= all.ptr + all.len);
		total += part.len;
		parts++;
	}
	must(!all.ptr || total + parts - 1 == all.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const words[] = { "kernel", "workspace", "tune", "define", "" };
	struct kw_str s = { (const char *)data, size };
	char *z = kw_alloc(size + 1);
	int64_t i;
	double d;

	split(s);
	kw_utf8_valid(s.ptr, s.len);
	must(kw_str_trim(s).len <= s.len);
	if (kw_str_to_i64(s, &i))
		must(kw_str_to_f64(s, &d) && fabs(d - (double)i) <= 1024);
	if (kw_str_to_f64(s, &d))
		must(isfinite(d));
	if (z) {
		if (size)
			memcpy(z, data, size);
		z[size] = '\0';
		kw_str_nearest(z, words, 5);
	}
	kw_free(z);
	return 0;
}
