#include "profile/metrics.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <string.h>
#include <strings.h>

static const struct {
	const char *name, *aliases;
	enum kw_quantity dim;
} metrics[KW_M_COUNT] = {
#define METRIC(e, name, dim, aliases) { name, aliases, KW_QUANTITY_##dim },
#include "profile/metrics.def"
#undef METRIC
};

const char *kw_metric_name(int m)
{
	return m >= 0 && m < KW_M_COUNT ? metrics[m].name : "";
}

enum kw_quantity kw_metric_quantity(int m)
{
	return m >= 0 && m < KW_M_COUNT ? metrics[m].dim : KW_QUANTITY_UNKNOWN;
}

const char *kw_quantity_unit(enum kw_quantity d)
{
	static const char *const units[] = { "%", "ns", "bytes", "bytes/s", "Hz", "", "" };

	return units[d];
}

/* ---- names ---- */

/* Open addressing over all aliases and our own names; made once. */
enum { TABLE = 2048, MAX_ALIAS = 160 };
struct alias {
	const char *ptr;
	size_t len;
	int metric;
};
static struct alias table[TABLE];
static pthread_once_t made = PTHREAD_ONCE_INIT;

static uint32_t hash(const char *p, size_t n)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < n; i++)
		h = (h ^ (uint32_t)tolower((unsigned char)p[i])) * 16777619u;
	return h;
}

static void put(const char *p, size_t n, int metric)
{
	uint32_t i = hash(p, n) % TABLE;

	if (n == 0)
		return;
	while (table[i].ptr)
		i = (i + 1) % TABLE;
	table[i] = (struct alias){ p, n, metric };
}

static void make(void)
{
	for (int m = 0; m < KW_M_COUNT; m++) {
		struct kw_str rest = kw_str_from(metrics[m].aliases), part;

		put(metrics[m].name, strlen(metrics[m].name), m);
		while (rest.len && kw_str_split(&rest, '|', &part))
			put(part.ptr, part.len, m);
	}
}

int kw_metric_find(struct kw_str alias, enum kw_quantity dim)
{
	int other = -1;

	pthread_once(&made, make);
	if (alias.len == 0 || alias.len > MAX_ALIAS)
		return -1;
	for (uint32_t i = hash(alias.ptr, alias.len) % TABLE; table[i].ptr; i = (i + 1) % TABLE) {
		if (table[i].len != alias.len || strncasecmp(table[i].ptr, alias.ptr, alias.len) != 0)
			continue;
		if (metrics[table[i].metric].dim == dim)
			return table[i].metric;
		if (other < 0)
			other = table[i].metric;
	}
	/* A page without units: the name alone must do. A share without its sign is one too. */
	return dim == KW_QUANTITY_COUNT ? other : -1;
}

int kw_metric_rank(int m, struct kw_str alias)
{
	struct kw_str rest = kw_str_from(metrics[m].aliases), part;
	int rank = 0;

	for (; rest.len && kw_str_split(&rest, '|', &part); rank++)
		if (part.len == alias.len && strncasecmp(part.ptr, alias.ptr, alias.len) == 0)
			return rank;
	return INT_MAX;
}

bool kw_metric_is_greatest(int m)
{
	return m == KW_M_TENSOR_PART_PCT || m == KW_M_TENSOR_ELAPSED_PCT || m == KW_M_TENSOR_INST;
}

int kw_metric_by_name(const char *name)
{
	for (int m = 0; m < KW_M_COUNT; m++)
		if (strcmp(metrics[m].name, name) == 0)
			return m;
	return -1;
}

const char *kw_metric_nearest(const char *alias)
{
	static char near[MAX_ALIAS + 1];
	static const char *list[TABLE];
	static char text[TABLE][MAX_ALIAS + 1];
	size_t n = 0;
	const char *found;

	pthread_once(&made, make);
	for (size_t i = 0; i < TABLE; i++)
		if (table[i].ptr && table[i].len <= MAX_ALIAS) {
			memcpy(text[n], table[i].ptr, table[i].len);
			text[n][table[i].len] = '\0';
			list[n] = text[n];
			n++;
		}
	found = kw_str_nearest(alias, list, n);
	if (!found)
		return NULL;
	strncpy(near, found, MAX_ALIAS);
	return near;
}

/* ---- units ---- */

static const struct {
	const char *name;
	enum kw_quantity dim;
	double scale;
} units[] = {
	{ "", KW_QUANTITY_COUNT, 1 },
	{ "%", KW_QUANTITY_PCT, 1 },
	{ "pct", KW_QUANTITY_PCT, 1 },
	{ "percent", KW_QUANTITY_PCT, 1 },
	{ "ns", KW_QUANTITY_TIME, 1 },
	{ "nsecond", KW_QUANTITY_TIME, 1 },
	{ "us", KW_QUANTITY_TIME, 1e3 },
	{ "\xc2\xb5s", KW_QUANTITY_TIME, 1e3 },
	{ "\xce\xbcs", KW_QUANTITY_TIME, 1e3 },
	{ "usecond", KW_QUANTITY_TIME, 1e3 },
	{ "ms", KW_QUANTITY_TIME, 1e6 },
	{ "msecond", KW_QUANTITY_TIME, 1e6 },
	{ "msec", KW_QUANTITY_TIME, 1e6 },
	{ "s", KW_QUANTITY_TIME, 1e9 },
	{ "sec", KW_QUANTITY_TIME, 1e9 },
	{ "second", KW_QUANTITY_TIME, 1e9 },
	{ "seconds", KW_QUANTITY_TIME, 1e9 },
	{ "hz", KW_QUANTITY_HZ, 1 },
	{ "khz", KW_QUANTITY_HZ, 1e3 },
	{ "mhz", KW_QUANTITY_HZ, 1e6 },
	{ "ghz", KW_QUANTITY_HZ, 1e9 },
	{ "cycle/s", KW_QUANTITY_HZ, 1 },
	{ "cycle/second", KW_QUANTITY_HZ, 1 },
	{ "cycle/msecond", KW_QUANTITY_HZ, 1e3 },
	{ "cycle/ms", KW_QUANTITY_HZ, 1e3 },
	{ "cycle/usecond", KW_QUANTITY_HZ, 1e6 },
	{ "cycle/us", KW_QUANTITY_HZ, 1e6 },
	{ "cycle/nsecond", KW_QUANTITY_HZ, 1e9 },
	{ "cycle/ns", KW_QUANTITY_HZ, 1e9 },
	{ "b", KW_QUANTITY_BYTES, 1 },
	{ "kb", KW_QUANTITY_BYTES, 1e3 },
	{ "mb", KW_QUANTITY_BYTES, 1e6 },
	{ "gb", KW_QUANTITY_BYTES, 1e9 },
	{ "kib", KW_QUANTITY_BYTES, 1024 },
	{ "mib", KW_QUANTITY_BYTES, 1048576 },
	{ "gib", KW_QUANTITY_BYTES, 1073741824 },
	{ "gb/s", KW_QUANTITY_RATE, 1e9 },
	{ "gbs", KW_QUANTITY_RATE, 1e9 },
	{ "gbps", KW_QUANTITY_RATE, 1e9 },
	{ "tb/s", KW_QUANTITY_RATE, 1e12 },
	{ "mb/s", KW_QUANTITY_RATE, 1e6 },
	{ "cycle", KW_QUANTITY_COUNT, 1 },
	{ "inst", KW_QUANTITY_COUNT, 1 },
	{ "inst/cycle", KW_QUANTITY_COUNT, 1 },
	{ "warp", KW_QUANTITY_COUNT, 1 },
	{ "warp/cycle", KW_QUANTITY_COUNT, 1 },
	{ "thread", KW_QUANTITY_COUNT, 1 },
	{ "block", KW_QUANTITY_COUNT, 1 },
	{ "sm", KW_QUANTITY_COUNT, 1 },
	{ "sector", KW_QUANTITY_COUNT, 1 },
	{ "request", KW_QUANTITY_COUNT, 1 },
	{ "register", KW_QUANTITY_COUNT, 1 },
	{ "register/thread", KW_QUANTITY_COUNT, 1 },
	{ "sector/request", KW_QUANTITY_COUNT, 1 },
	{ "request/cycle", KW_QUANTITY_COUNT, 1 },
	{ "sector/cycle", KW_QUANTITY_COUNT, 1 },
	{ "cycle/inst", KW_QUANTITY_COUNT, 1 },
	{ "cycle/instruction", KW_QUANTITY_COUNT, 1 },
	{ "inst/warp", KW_QUANTITY_COUNT, 1 },
	{ "node", KW_QUANTITY_COUNT, 1 },
	{ "bank", KW_QUANTITY_COUNT, 1 },
	{ "branch", KW_QUANTITY_COUNT, 1 },
	{ "kinst", KW_QUANTITY_COUNT, 1e3 },
	{ "minst", KW_QUANTITY_COUNT, 1e6 },
	{ "ginst", KW_QUANTITY_COUNT, 1e9 },
	{ "ratio", KW_QUANTITY_COUNT, 1 },
	{ "count", KW_QUANTITY_COUNT, 1 },
	{ "wavefront", KW_QUANTITY_COUNT, 1 },
	{ "inst/block", KW_QUANTITY_COUNT, 1 },
	{ "cluster", KW_QUANTITY_COUNT, 1 },
	{ "tpc", KW_QUANTITY_COUNT, 1 },
	{ "inst/second", KW_QUANTITY_COUNT, 1 },
	{ "inst/s", KW_QUANTITY_COUNT, 1 },
	{ "sample", KW_QUANTITY_COUNT, 1 },
	{ "inst/ns", KW_QUANTITY_COUNT, 1e9 },
	{ "inst/us", KW_QUANTITY_COUNT, 1e6 },
	{ "inst/ms", KW_QUANTITY_COUNT, 1e3 },
	{ "cycle/warp", KW_QUANTITY_COUNT, 1 },
	{ "thread/warp", KW_QUANTITY_COUNT, 1 },
	{ "gpu", KW_QUANTITY_COUNT, 1 },
};

/* "Mbyte", "Kbyte/block", "Gbyte/second": a prefix, "byte", and what it is for. */
static bool byte_unit(const char *u, enum kw_quantity *dim, double *scale)
{
	static const char prefixes[] = "kmgtp";
	const char *at = *u ? strchr(prefixes, *u) : NULL;
	const char *per;

	*scale = 1;
	if (at && strncmp(u + 1, "byte", 4) == 0) {
		for (const char *p = prefixes; p <= at; p++)
			*scale *= 1e3;
		u++;
	}
	if (strncmp(u, "byte", 4) != 0)
		return false;
	per = u + 4 + (u[4] == 's');
	*dim = KW_QUANTITY_BYTES;
	if (*per == '\0' || strcmp(per, "/block") == 0 || strcmp(per, "/sector") == 0 || strcmp(per, "/thread") == 0)
		return true;
	*dim = KW_QUANTITY_RATE;
	if (strcmp(per, "/ms") == 0 || strcmp(per, "/msecond") == 0)
		*scale *= 1e3;
	else if (strcmp(per, "/us") == 0 || strcmp(per, "/usecond") == 0)
		*scale *= 1e6;
	else if (strcmp(per, "/ns") == 0 || strcmp(per, "/nsecond") == 0)
		*scale *= 1e9;
	else if (strcmp(per, "/s") != 0 && strcmp(per, "/second") != 0) {
		*dim = KW_QUANTITY_COUNT;
		return strcmp(per, "/cycle") == 0 || strcmp(per, "/inst") == 0 || strcmp(per, "/request") == 0 ||
		       strcmp(per, "/warp") == 0 || strcmp(per, "/wavefront") == 0;
	}
	return true;
}

bool kw_unit_find(struct kw_str unit, enum kw_quantity *dim, double *scale)
{
	char u[32];
	size_t n;

	unit = kw_str_trim(unit);
	if (unit.len > 2 && unit.ptr[0] == '[' && unit.ptr[unit.len - 1] == ']')
		unit = (struct kw_str){ unit.ptr + 1, unit.len - 2 };
	*dim = KW_QUANTITY_UNKNOWN;
	*scale = 1;
	if (unit.len >= sizeof(u))
		return false;
	for (n = 0; n < unit.len; n++)
		u[n] = (char)tolower((unsigned char)unit.ptr[n]);
	u[n] = '\0';
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(units[i].name, u) == 0) {
			*dim = units[i].dim;
			*scale = units[i].scale;
			return true;
		}
	if (byte_unit(u, dim, scale))
		return true;
	if (n > 2 && u[n - 1] == 's' && u[n - 2] != '/') /* "sectors" */
		return kw_unit_find((struct kw_str){ u, n - 1 }, dim, scale);
	*dim = KW_QUANTITY_UNKNOWN;
	return false;
}

/* ---- numbers ---- */

bool kw_number_is_missing(struct kw_str s)
{
	static const char *const words[] = { "n/a",  "(!) n/a", "nan",	   "-nan", "inf",	    "-inf",
					     "-",    "--",	"no data", "none", "<not counted>", "<not supported>",
					     "n.a.", "null",	"(!) nan" };

	s = kw_str_trim(s);
	if (s.len == 0)
		return true;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (s.len == strlen(words[i]) && strncasecmp(s.ptr, words[i], s.len) == 0)
			return true;
	return false;
}

/* Blank, apostrophe, no-break space (two or three bytes): between thousands. Returns its bytes. */
static size_t thousands_mark(const char *p, size_t left)
{
	if (*p == ' ' || *p == '\'')
		return 1;
	if (left >= 2 && memcmp(p, "\xc2\xa0", 2) == 0)
		return 2;
	if (left >= 3 && (memcmp(p, "\xe2\x80\xaf", 3) == 0 || memcmp(p, "\xe2\x80\x99", 3) == 0))
		return 3;
	return 0;
}

bool kw_number_read(struct kw_str s, enum kw_number_style style, double *out)
{
	char point = style == KW_NUMBER_POINT ? '.' : ',', group = style == KW_NUMBER_POINT ? ',' : '.';
	char clean[64];
	size_t n = 0, i = 0;

	s = kw_str_trim(s);
	if (s.len && s.ptr[s.len - 1] == '%')
		s = kw_str_trim((struct kw_str){ s.ptr, s.len - 1 });
	if (s.len && (*s.ptr == '-' || *s.ptr == '+'))
		clean[n++] = s.ptr[i++];
	if (i >= s.len || (!isdigit((unsigned char)s.ptr[i]) && s.ptr[i] != point))
		return false;
	while (i < s.len && n < sizeof(clean) - 1) {
		char c = s.ptr[i];
		size_t mark;

		if (isdigit((unsigned char)c) || c == point) {
			clean[n++] = c == point ? '.' : c;
			i++;
		} else if ((c == 'e' || c == 'E') && i + 1 < s.len && n < sizeof(clean) - 2) {
			clean[n++] = 'e';
			i++;
			if (s.ptr[i] == '+' || s.ptr[i] == '-')
				clean[n++] = s.ptr[i++];
		} else if (c == group && i + 1 < s.len && isdigit((unsigned char)s.ptr[i + 1])) {
			i++;
		} else if ((mark = thousands_mark(s.ptr + i, s.len - i)) && i + mark < s.len &&
			   isdigit((unsigned char)s.ptr[i + mark])) {
			i += mark;
		} else {
			break;
		}
	}
	/* "12 (1; 2; 3)": one value for each instance of a unit behind the sum. */
	if (i < s.len && !(s.len - i > 1 && s.ptr[i] == ' ' && s.ptr[i + 1] == '('))
		return false;
	return n > 0 && kw_str_to_f64((struct kw_str){ clean, n }, out) && isfinite(*out);
}

/* Votes of one run of digits and marks: the last mark is the decimal one unless three digits follow it. */
static void vote(const char *p, size_t n, int *comma, int *point)
{
	size_t last = n, commas = 0, points = 0;

	for (size_t i = 0; i < n; i++) {
		commas += p[i] == ',';
		points += p[i] == '.';
		if (p[i] == ',' || p[i] == '.')
			last = i;
	}
	if (last == n || last == 0 || last + 1 == n)
		return;
	/* Thousands come in threes: an address of the network (127.0.0.1) is no number. */
	for (size_t i = 0, digits = 0, marks = 0; i <= n && commas + points > 1; i++) {
		if (i < n && p[i] != ',' && p[i] != '.') {
			digits++;
			continue;
		}
		if (marks && digits != 3 && i < n)
			return;
		if (marks && digits != 3 && commas != 1 && points != 1)
			return;
		marks++;
		digits = 0;
	}
	if (commas && points)
		*(p[last] == ',' ? comma : point) += 1;
	else if (commas > 1)
		*point += 1;
	else if (points > 1)
		*comma += 1;
	else if (points && last <= 2 && n - last - 1 == 1)
		return; /* as a compute capability (8.9), which has a point in every locale and stands in every row */
	else if (n - last - 1 != 3 || (last == 1 && p[0] == '0') || last > 3)
		*(p[last] == ',' ? comma : point) += 1;
}

/* Fields stand in quotes: not the name in "==PROF== Profiling "k" - 0" before a page of text. */
static bool has_quoted_rows(const char *text, size_t len)
{
	return (len && *text == '"') || memmem(text, len, "\n\"", 2) || memmem(text, len, "\",", 2) || memmem(text, len, "\";", 2);
}

enum kw_number_style kw_number_style_of(const char *text, size_t len)
{
	bool quotes = has_quoted_rows(text, len);
	bool semicolons = memchr(text, ';', len) != NULL;
	int comma = 0, point = 0;

	len = len < 262144 ? len : 262144;
	for (size_t i = 0; i < len; i++) {
		size_t n = 0;
		char before = i ? text[i - 1] : '\n';

		if (!isdigit((unsigned char)text[i]) || isalnum((unsigned char)before) || before == '_' ||
		    before == '.')
			continue;
		while (i + n < len && (isdigit((unsigned char)text[i + n]) || text[i + n] == '.' || text[i + n] == ','))
			n++;
		if (quotes ? before == '"' && i + n < len && text[i + n] == '"'
			   : semicolons || (i + n < len && (text[i + n] == '\n' || text[i + n] == '\r')))
			if (quotes || semicolons || before == ' ' || before == '\t')
				vote(text + i, n, &comma, &point);
		i += n ? n - 1 : 0;
	}
	return comma > point ? KW_NUMBER_COMMA : KW_NUMBER_POINT;
}
