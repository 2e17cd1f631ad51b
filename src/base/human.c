/* Numbers for people (declared in str.h): three digits or so, and the unit that fits. */
#include <math.h>
#include <stdio.h>

#include "base/str.h"

/* Three significant digits, without a trailing ".0" on whole numbers below 1000. */
static void write_scaled(double v, const char *unit, char *out, size_t out_bytes)
{
	double size = fabs(v);
	int digits = size >= 99.95 || v == floor(v) ? 0 : size >= 9.995 ? 1 : 2;

	snprintf(out, out_bytes, "%.*f %s", digits, v, unit);
}

static const char *scale(double v, double step, const char *const *units, int count, char *out,
			 size_t out_bytes)
{
	int i = 0;

	if (!isfinite(v)) {
		snprintf(out, out_bytes, "%s", isnan(v) ? "nan" : v < 0 ? "-inf" : "inf");
		return out;
	}
	/* 999.5 would print as 1000 of the smaller unit. */
	while (i < count - 1 && fabs(v) >= step - 0.5) {
		v /= step;
		i++;
	}
	write_scaled(v, units[i], out, out_bytes);
	return out;
}

const char *kw_human_bytes(double bytes, char *out, size_t out_bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };

	return scale(bytes, 1024, units, 6, out, out_bytes);
}

const char *kw_human_ns(double ns, char *out, size_t out_bytes)
{
	static const char *const units[] = { "ns", "us", "ms" };

	if (!(fabs(ns) >= 999.5e6) || !isfinite(ns))
		return scale(ns, 1000, units, 3, out, out_bytes);
	if (fabs(ns) < 600e9)
		write_scaled(ns / 1e9, "s", out, out_bytes);
	else
		write_scaled(ns / 60e9, "min", out, out_bytes);
	return out;
}

const char *kw_human_rate(double per_s, const char *unit, char *out, size_t out_bytes)
{
	static const char *const prefixes[] = { " ", " k", " M", " G", " T", " P" };
	char number[32];
	int i = 0;

	if (!isfinite(per_s)) {
		snprintf(out, out_bytes, "%s %s", isnan(per_s) ? "nan" : "inf", unit);
		return out;
	}
	while (i < 5 && fabs(per_s) >= 999.5) {
		per_s /= 1000;
		i++;
	}
	write_scaled(per_s, "", number, sizeof(number));
	for (char *p = number; *p; p++)
		if (*p == ' ')
			*p = '\0';
	snprintf(out, out_bytes, "%s%s%s", number, prefixes[i], unit);
	return out;
}
