/* The table of averages that PyTorch's profiler prints: no counter of a unit is in it. */
#include <math.h>
#include <string.h>

#include "profile/input.h"

enum { MAX_COLUMNS = 32 };

struct table {
	struct kw_str name[MAX_COLUMNS];
	size_t count;
};

/* Columns stand two blanks apart; names have single ones in them. */
static void split(struct kw_str line, struct table *out)
{
	const char *p = line.ptr, *end = line.ptr + line.len;

	out->count = 0;
	while (p < end && out->count < MAX_COLUMNS) {
		const char *stop;

		while (p < end && *p == ' ')
			p++;
		stop = p < end ? memmem(p, (size_t)(end - p), "  ", 2) : NULL;
		stop = stop ? stop : end;
		if (stop > p)
			out->name[out->count++] =
				kw_str_trim((struct kw_str){ p, (size_t)(stop - p) });
		p = stop;
	}
}

static size_t column(const struct table *t, const char *const *names)
{
	for (; *names; names++)
		for (size_t i = 0; i < t->count; i++)
			if (kw_str_eqz(t->name[i], *names))
				return i;
	return SIZE_MAX;
}

/* "31.120ms"; NaN: no time. */
static double time_of(struct kw_str s)
{
	size_t n = 0;
	enum kw_quantity dim;
	double v, scale;

	while (n < s.len && ((s.ptr[n] >= '0' && s.ptr[n] <= '9') || s.ptr[n] == '.'))
		n++;
	if (!kw_number_read((struct kw_str){ s.ptr, n }, KW_NUMBER_POINT, &v) ||
	    !kw_unit_find((struct kw_str){ s.ptr + n, s.len - n }, &dim, &scale) ||
	    dim != KW_QUANTITY_TIME)
		return NAN;
	return v * scale;
}

void kw_read_torch_table(const char *text, size_t len, struct kw_launches *out)
{
	static const char *const averages[] = { "CUDA time avg", "XPU time avg", "Device time avg",
						NULL };
	static const char *const own[] = { "Self CUDA", "Self XPU", "Self Device", NULL },
				 *const cpu[] = { "CPU total", NULL },
				 *const calls[] = { "# of Calls", NULL };
	struct kw_str rest = { text, len }, line;
	struct table head = { .count = 0 }, row;
	size_t average = SIZE_MAX, self = SIZE_MAX, host = SIZE_MAX, number = SIZE_MAX;
	bool operators = false;
	int n = 0;

	out->form = "PyTorch's table of averages";
	while (rest.ptr && kw_str_split(&rest, '\n', &line)) {
		double ns, times;
		struct kw_launch *k;

		n++;
		split(kw_str_trim(line), &row);
		if (row.count >= 4 && kw_str_eqz(row.name[0], "Name")) {
			head = row;
			average = column(&head, averages);
			self = column(&head, own);
			host = column(&head, cpu);
			number = column(&head, calls);
			continue;
		}
		if (head.count == 0 || row.count < 4)
			continue;
		if (row.count != head.count) {
			kw_launches_note(out, n,
					 "the row has %zu fields and the row of column names %zu; "
					 "it was left out",
					 row.count, head.count);
			continue;
		}
		operators = true;
		/* A row of a kernel has no time of the host; an operator's has that of its kernels,
		 * which have rows of their own. */
		if (average == SIZE_MAX || host == SIZE_MAX || self == SIZE_MAX ||
		    time_of(row.name[host]) > 0 || !(time_of(row.name[self]) > 0) ||
		    kw_str_starts(row.name[0], "Memcpy") || kw_str_starts(row.name[0], "Memset"))
			continue;
		ns = time_of(row.name[average]);
		k = kw_launches_add(out, row.name[0], n);
		if (!k)
			break;
		k->value[KW_M_GPU] = 1;
		if (ns > 0)
			kw_launch_set(k, KW_M_DURATION_NS, ns);
		if (number != SIZE_MAX && kw_number_read(row.name[number], KW_NUMBER_POINT, &times))
			kw_launch_set(k, KW_M_INVOCATIONS, times);
	}
	if (out->count)
		kw_launches_note(
			out, 0,
			"this table has times and counts alone; prof.export_chrome_trace(FILE) has "
			"grids, registers and the gaps between kernels, and explain reads it");
	else
		kw_launches_note(
			out, 0,
			operators
				? "only operators of the host are in this table and no kernel of a "
				  "GPU, so it says nothing of one; explain the operator itself: "
				  "kwright explain TASK FILE, or a profile with "
				  "ProfilerActivity.CUDA"
				: "this looks like a table of PyTorch's profiler, but no row of it "
				  "can be read");
}
