#include "model/retry.h"

#include <time.h>

#include "base/str.h"

double kw_retry_after_s(const char *ms, const char *after, int64_t now_ms)
{
	static const char *const dates[] = { "%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y" };
	double now_s = (double)now_ms / 1000.0, s;

	if (ms && kw_str_to_f64(kw_str_trim(kw_str_from(ms)), &s) && s >= 0)
		return s / 1000.0;
	if (!after || !after[0])
		return -1.0;
	if (kw_str_to_f64(kw_str_trim(kw_str_from(after)), &s)) {
		if (s > 1e9) /* no pause, but a point in time */
			s -= now_s;
		return s > 0 ? s : 0.0;
	}
	for (size_t i = 0; i < sizeof(dates) / sizeof(dates[0]); i++) {
		struct tm tm = { 0 };
		const char *end = strptime(after, dates[i], &tm);

		if (end && kw_str_trim(kw_str_from(end)).len == 0) {
			s = (double)timegm(&tm) - now_s;
			return s > 0 ? s : 0.0;
		}
	}
	return -1.0;
}

double kw_retry_backoff_s(int n, uint64_t random)
{
	double s = 1.0;

	for (int i = 1; i < n && s < 30.0; i++)
		s *= 2.0;
	s = s < 30.0 ? s : 30.0;
	return s - s * 0.25 * (double)(random >> 11) / (double)(1ull << 53);
}

bool kw_retry_status(int status)
{
	return status == 408 || status == 409 || status == 425 || status == 429 || status >= 500;
}
