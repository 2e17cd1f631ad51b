/* What `perf stat` prints, as text, with -x or with -j. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "profile/csv.h"
#include "profile/input.h"

/* "cycles:u", "cpu_core/cycles/" and "cycles" are one event; hybrid ones of the small cores are left out. */
static int event_of(struct kw_str name)
{
	const char *colon = memrchr(name.ptr, ':', name.len), *slash;
	int m;

	if (kw_str_starts(name, "cpu_core/") && (slash = memrchr(name.ptr, '/', name.len)) > name.ptr + 9)
		name = (struct kw_str){ name.ptr + 9, (size_t)(slash - name.ptr - 9) };
	else if (colon && name.ptr + name.len - colon <= 4)
		name.len = (size_t)(colon - name.ptr);
	m = kw_metric_find(name, KW_QUANTITY_TIME);
	return m >= 0 ? m : kw_metric_find(name, KW_QUANTITY_COUNT);
}

static void value(struct kw_launch *k, struct kw_str number, struct kw_str unit, struct kw_str event,
		  enum kw_number_style style)
{
	enum kw_quantity dim;
	double scale, v;
	int m = event_of(event);

	if (!kw_number_read(number, style, &v)) {
		if (kw_number_is_missing(number) && number.len)
			kw_launch_unknown(k, event);
		return;
	}
	if (m < 0)
		return;
	if (!kw_unit_find(unit, &dim, &scale))
		scale = 1;
	/* -x gives the task clock in ms with the unit "msec". */
	kw_launch_set(k, m, v * (kw_metric_quantity(m) == KW_QUANTITY_TIME ? (unit.len ? scale : 1e6) : 1));
}

static bool text_line(struct kw_launch *k, struct kw_str line, enum kw_number_style style)
{
	struct kw_str bare = kw_str_trim(line), number, event, unit = { "", 0 };
	size_t i = 0, start;

	if (bare.len == 0 || (!isdigit((unsigned char)*bare.ptr) && *bare.ptr != '<'))
		return false;
	while (i < bare.len && bare.ptr[i] != ' ')
		i++;
	/* "77 375 671": blanks between thousands. */
	while (i + 4 <= bare.len && isdigit((unsigned char)*bare.ptr) && bare.ptr[i] == ' ' &&
	       isdigit((unsigned char)bare.ptr[i + 1]) && isdigit((unsigned char)bare.ptr[i + 2]) &&
	       isdigit((unsigned char)bare.ptr[i + 3]) && (i + 4 == bare.len || bare.ptr[i + 4] == ' '))
		i += 4;
	if (*bare.ptr == '<')
		while (i < bare.len && bare.ptr[i - 1] != '>')
			i++;
	number = (struct kw_str){ bare.ptr, i };
	while (i < bare.len && bare.ptr[i] == ' ')
		i++;
	start = i;
	while (i < bare.len && bare.ptr[i] != ' ')
		i++;
	event = (struct kw_str){ bare.ptr + start, i - start };
	if (kw_str_eqz(event, "msec") || kw_str_eqz(event, "seconds")) {
		unit = event;
		while (i < bare.len && bare.ptr[i] == ' ')
			i++;
		start = i;
		while (i < bare.len && bare.ptr[i] != ' ')
			i++;
		event = (struct kw_str){ bare.ptr + start, i - start };
	}
	if (kw_str_eqz(unit, "seconds")) {
		double v;

		if (kw_str_eqz(event, "time") && kw_number_read(number, style, &v))
			kw_launch_set(k, KW_M_DURATION_NS, v * 1e9);
		return true;
	}
	value(k, number, unit, event, style);
	return true;
}

/* {"counter-value" : "1234.56", "unit" : "msec", "event" : "task-clock", ...}; the decimal mark is the locale's here too. */
static void json_line(struct kw_launch *k, struct kw_str line, int number, enum kw_number_style style)
{
	json_error_t e;
	json_t *j = json_loadb(line.ptr, line.len, 0, &e);

	if (j)
		value(k, kw_str_from(kw_json_get_str(j, "counter-value", "")), kw_str_from(kw_json_get_str(j, "unit", "")),
		      kw_str_from(kw_json_get_str(j, "event", "")), style);
	else
		kw_launches_note(k->owner, number, "this is no JSON that can be read: %.160s", e.text);
	json_decref(j);
}

/* Nothing of the processor was counted, as on most virtual machines. */
static void note_no_counters(struct kw_launch *k)
{
	if (k->unknown_count && !kw_launch_has(k, KW_M_CPU_CYCLES) && !kw_launch_has(k, KW_M_CPU_INST) && !kw_launch_has(k, KW_M_CACHE_MISSES))
		kw_launches_note(k->owner, k->line,
				 "the processor's counters could not be read: a virtual machine often does not pass them on, and "
				 "/proc/sys/kernel/perf_event_paranoid of over 2 keeps them from users");
}

void kw_read_perf_stat(const char *text, size_t len, struct kw_launches *out)
{
	struct kw_str rest = { text, len }, line;
	enum kw_number_style style = KW_NUMBER_POINT;
	struct kw_launch *k = NULL;
	struct kw_csv csv;
	int n = 0;

	/* "1.234.567 cycles" and "0,53 seconds": perf writes as the locale wants. */
	for (size_t m = 0; m < 3; m++) {
		static const char *const marks[] = { " CPUs utilized", " seconds time", "\", \"unit\" : \"msec\"" };
		const char *at = memmem(text, len, marks[m], strlen(marks[m]));

		for (const char *p = at; at && p > text && p[-1] != ' ' && p[-1] != '\n'; p--)
			if (p[-1] == ',')
				style = KW_NUMBER_COMMA;
	}
	kw_csv_init(&csv, memmem(text, len, ";cycles", 7) ? ';' : ',');
	out->form = "perf stat";
	while (rest.ptr && kw_str_split(&rest, '\n', &line)) {
		const char *name = memmem(line.ptr, line.len, "stats for '", 11);

		n++;
		if (name || !k) {
			struct kw_str s = KW_STR("");

			if (name) {
				s = (struct kw_str){ name + 11, (size_t)(line.ptr + line.len - name - 11) };
				s.len = memchr(s.ptr, '\'', s.len)
						? (size_t)((const char *)memchr(s.ptr, '\'', s.len) - s.ptr)
						: s.len;
			}
			if (!k || k->kernel[0]) {
				k = kw_launches_add(out, s, n);
				if (!k)
					break;
				kw_launch_set(k, KW_M_GPU, 0);
			} else {
				k->kernel = kw_launches_intern(out, s);
			}
			if (name)
				continue;
		}
		if (kw_str_trim(line).len == 0 || *kw_str_trim(line).ptr == '#')
			continue;
		if (*kw_str_trim(line).ptr == '{')
			json_line(k, kw_str_trim(line), n, style);
		else if (!memmem(line.ptr, line.len, "  ", 2) && kw_csv_split(&csv, kw_str_trim(line)) && csv.count >= 3)
			value(k, csv.field[0], csv.field[1], csv.field[2], style);
		else
			text_line(k, line, style);
	}
	for (size_t i = 0; i < out->count; i++)
		note_no_counters(out->list[i]);
	kw_csv_release(&csv);
}
