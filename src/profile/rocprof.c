/* CSV of AMD's rocprof (versions 1 and 2) and rocprofv3: a row a dispatch with a column a counter,
 * a row a counter of a dispatch, a row a dispatch of a trace, a row a kernel of a summary. Names
 * and units are those of the tools' documentation; a grid is in work-items there, as the packet of
 * a dispatch has it, and sizes of fetches and writes are in KiB. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "profile/csv.h"
#include "profile/input.h"

enum column {
	KERNEL,
	DISPATCH,
	BEGIN,
	END,
	DURATION,
	CALLS,
	AVERAGE,
	GRID,
	GRID_X,
	GRID_Y,
	GRID_Z,
	GROUP,
	GROUP_X,
	GROUP_Y,
	GROUP_Z,
	LDS,
	SCRATCH,
	VGPRS,
	WAVE,
	COUNTER,
	VALUE,
	FUNCTION,
	DIRECTION,
	AGENT_TYPE,
	COLUMNS
};
static const struct {
	const char *name;
	enum column column;
} names[] = {
	{ "KernelName", KERNEL },
	{ "Kernel_Name", KERNEL },
	{ "Name", KERNEL },
	{ "Index", DISPATCH },
	{ "Dispatch_ID", DISPATCH },
	{ "BeginNs", BEGIN },
	{ "Start_Timestamp", BEGIN },
	{ "EndNs", END },
	{ "End_Timestamp", END },
	{ "DurationNs", DURATION },
	{ "Calls", CALLS },
	{ "AverageNs", AVERAGE },
	{ "grd", GRID },
	{ "Grid_Size", GRID },
	{ "Grid_Size_X", GRID_X },
	{ "Grid_Size_Y", GRID_Y },
	{ "Grid_Size_Z", GRID_Z },
	{ "wgr", GROUP },
	{ "Workgroup_Size", GROUP },
	{ "Workgroup_Size_X", GROUP_X },
	{ "Workgroup_Size_Y", GROUP_Y },
	{ "Workgroup_Size_Z", GROUP_Z },
	{ "lds", LDS },
	{ "LDS_Per_Workgroup", LDS },
	{ "LDS_Block_Size", LDS },
	{ "Group_Segment_Size", LDS },
	{ "scr", SCRATCH },
	{ "Scratch_Per_Workitem", SCRATCH },
	{ "Scratch_Size", SCRATCH },
	{ "Private_Segment_Size", SCRATCH },
	{ "vgpr", VGPRS },
	{ "arch_vgpr", VGPRS },
	{ "VGPR_Count", VGPRS },
	{ "Wave_Size", WAVE },
	{ "Counter_Name", COUNTER },
	{ "Counter_Value", VALUE },
	{ "Function", FUNCTION },
	{ "Direction", DIRECTION },
	{ "Agent_Type", AGENT_TYPE },
};
/* What is in a file beside counters, and says nothing of a kernel. */
static const char *const others[] = { "gpu-id",
				      "queue-id",
				      "queue-index",
				      "tid",
				      "accum_vgpr",
				      "sgpr",
				      "fbar",
				      "sig",
				      "obj",
				      "DispatchNs",
				      "CompleteNs",
				      "GPU_ID",
				      "Queue_ID",
				      "Queue_Index",
				      "Correlation_ID",
				      "Agent_Id",
				      "Queue_Id",
				      "Thread_Id",
				      "Kernel_Id",
				      "Correlation_Id",
				      "SGPR_Count",
				      "Kind",
				      "Stream_Id",
				      "Accum_VGPR_Count",
				      "Accum_VGPR",
				      "TotalDurationNs",
				      "Percentage",
				      "MaxNs",
				      "MinNs",
				      "pid",
				      "Process_Id",
				      "StdDev",
				      "SGPR",
				      "XCC_ID",
				      NULL };
static const struct {
	const char *name;
	int metric;
	double scale;
} counters[] = {
	{ "FETCH_SIZE", KW_M_DRAM_READ, 1024 },	     { "FetchSize", KW_M_DRAM_READ, 1024 },
	{ "WRITE_SIZE", KW_M_DRAM_WRITE, 1024 },     { "WriteSize", KW_M_DRAM_WRITE, 1024 },
	{ "L2CacheHit", KW_M_L2_HIT_PCT, 1 },	     { "L2CacheHitRate", KW_M_L2_HIT_PCT, 1 },
	{ "VALUBusy", KW_M_COMPUTE_PCT, 1 },	     { "VALUUtilization", KW_M_ACTIVE_LANES, 1 },
	{ "MfmaUtil", KW_M_TENSOR_PCT, 1 },	     { "MemUnitBusy", KW_M_MEM_BUSY_PCT, 1 },
	{ "LDSBankConflict", KW_M_LDS_CONFLICT, 1 }, { "OccupancyPercent", KW_M_ACHIEVED_PCT, 1 },
};
enum { MAX_COLUMNS = 512 };
struct reader {
	struct kw_launches *out;
	struct kw_csv csv;
	int at[COLUMNS], line;	    /* at: -1 where there is no such column */
	short counter[MAX_COLUMNS]; /* the row of `counters`, -1: none */
	size_t columns, known;	    /* known: counters that were read */
	size_t *slots, slot_count;  /* launches by kernel and dispatch: place + 1; 0: free */
	bool headed, timed, joined; /* joined: another file with its own row of names began */
	char unknown[200];	    /* names of counters without a meaning here */
};

static int counter_of(struct kw_str name)
{
	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
		if (name.len == strlen(counters[i].name) &&
		    strncasecmp(name.ptr, counters[i].name, name.len) == 0)
			return (int)i;
	return -1;
}

static void add_unknown(struct reader *r, struct kw_str name)
{
	size_t n = strlen(r->unknown), len = name.len < 60 ? name.len : 60;
	const char *at = memmem(r->unknown, n, name.ptr, len);

	if (len == 0 || n + len + 3 > sizeof(r->unknown) ||
	    (at && (at[len] == '\0' || at[len] == ',')))
		return;
	snprintf(r->unknown + n, sizeof(r->unknown) - n, "%s%.*s", n ? ", " : "", (int)len,
		 name.ptr);
}

static bool is_column_name(struct kw_str f)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (f.len == strlen(names[i].name) && strncasecmp(f.ptr, names[i].name, f.len) == 0)
			return true;
	for (size_t i = 0; others[i]; i++)
		if (f.len == strlen(others[i]) && strncasecmp(f.ptr, others[i], f.len) == 0)
			return true;
	return false;
}

/* False: a line of another program, in which no column is known. */
static bool head(struct reader *r)
{
	bool any = false;

	r->columns = r->csv.count < MAX_COLUMNS ? r->csv.count : MAX_COLUMNS;
	for (int c = 0; c < COLUMNS; c++)
		r->at[c] = -1;
	for (size_t i = 0; i < r->columns; i++) {
		struct kw_str f = kw_str_trim(r->csv.field[i]);
		bool is_column = false;

		for (size_t k = 0; k < sizeof(names) / sizeof(names[0]) && !is_column; k++)
			if (f.len == strlen(names[k].name) &&
			    strncasecmp(f.ptr, names[k].name, f.len) == 0) {
				r->at[names[k].column] = r->at[names[k].column] < 0
								 ? (int)i
								 : r->at[names[k].column];
				is_column = any = true;
			}
		r->counter[i] = (short)(is_column ? -1 : counter_of(f));
	}
	for (size_t i = 0; i < r->columns && any; i++)
		if (r->counter[i] < 0 && !is_column_name(kw_str_trim(r->csv.field[i])))
			add_unknown(r, kw_str_trim(r->csv.field[i]));
	r->joined = r->headed && any;
	r->headed = r->headed || any;
	return any;
}

static struct kw_str field(const struct reader *r, enum column c)
{
	if (r->at[c] < 0 || (size_t)r->at[c] >= r->csv.count)
		return KW_STR("");
	return kw_str_trim(r->csv.field[r->at[c]]);
}

static double number(const struct reader *r, enum column c)
{
	double v;

	return kw_number_read(field(r, c), KW_NUMBER_POINT, &v) ? v : NAN;
}

/* "saxpy.kd" is the descriptor of the kernel saxpy; "[clone .kd]" says so of a name in C++. */
static struct kw_str plain(struct kw_str name)
{
	if (name.len > 11 && memcmp(name.ptr + name.len - 11, "[clone .kd]", 11) == 0)
		return kw_str_trim((struct kw_str){ name.ptr, name.len - 11 });
	if (name.len > 3 && memcmp(name.ptr + name.len - 3, ".kd", 3) == 0)
		name.len -= 3;
	return name;
}

static uint32_t hash(uint32_t h, struct kw_str s)
{
	for (size_t i = 0; i < s.len; i++)
		h = (h ^ (unsigned char)s.ptr[i]) * 16777619u;
	return h;
}

/* Where a launch of this kernel and dispatch is, or would be. */
static size_t slot_of(const struct reader *r, struct kw_str kernel, struct kw_str id)
{
	size_t i = hash(hash(2166136261u, id), kernel) & (r->slot_count - 1);

	for (; r->slots[i]; i = (i + 1) & (r->slot_count - 1)) {
		const struct kw_launch *k = r->out->list[r->slots[i] - 1];

		if (kw_str_eqz(id, k->id) && kw_str_eqz(kernel, k->kernel))
			break;
	}
	return i;
}

/* At most half full. False: out of memory. */
static bool room_for_one(struct reader *r)
{
	size_t *old = r->slots, cap = r->slot_count ? r->slot_count * 2 : 64;

	if (r->out->count * 2 < r->slot_count)
		return true;
	r->slots = kw_calloc(cap, sizeof(*r->slots));
	if (!r->slots) {
		r->slots = old;
		return false;
	}
	r->slot_count = cap;
	for (size_t i = 0; i < r->out->count; i++) {
		const struct kw_launch *k = r->out->list[i];

		r->slots[slot_of(r, kw_str_from(k->kernel), kw_str_from(k->id))] = i + 1;
	}
	kw_free(old);
	return true;
}

/* Rows of one dispatch, a counter each, follow each other, or a counter's rows go over all
 * dispatches; runs for other counters, joined in one file, number the dispatches as the first did.
 */
static struct kw_launch *launch_of(struct reader *r, struct kw_str kernel, struct kw_str id)
{
	struct kw_launches *l = r->out;
	struct kw_launch *k;
	size_t slot;

	if (!room_for_one(r)) {
		l->full = true;
		return NULL;
	}
	slot = slot_of(r, kernel, id);
	if (r->slots[slot] && id.len && (r->joined || r->at[COUNTER] >= 0))
		return l->list[r->slots[slot] - 1];
	k = kw_launches_add(l, kernel, r->line);
	if (!k)
		return NULL;
	k->id = kw_arena_str(l->arena, id);
	k->id = k->id ? k->id : "";
	k->value[KW_M_GPU] = k->value[KW_M_HIP] = 1;
	r->slots[slot] = l->count;
	return k;
}

/* Blocks of one dimension: a grid is in work-items, and a last group may be smaller. */
static bool sizes(const struct reader *r, enum column grid, enum column group, int64_t *blocks,
		  int64_t *threads)
{
	double items = number(r, grid), in_group = number(r, group);

	if (!(items >= 1 && items < 1e15) || !(in_group >= 1 && in_group <= 65536))
		return false;
	*blocks = (int64_t)ceil(items / in_group);
	*threads = (int64_t)in_group;
	return true;
}

static void shape(const struct reader *r, struct kw_launch *k)
{
	int64_t blocks = 1, threads = 1;

	if (k->grid[0])
		return;
	for (int d = 0; d < 3 && r->at[GRID_X] >= 0; d++) {
		if (!sizes(r, GRID_X + (enum column)d, GROUP_X + (enum column)d, &k->grid[d],
			   &k->block[d])) {
			memset(k->grid, 0, sizeof(k->grid));
			memset(k->block, 0, sizeof(k->block));
			return;
		}
	}
	if (r->at[GRID_X] < 0) {
		if (!sizes(r, GRID, GROUP, &k->grid[0], &k->block[0]))
			return;
		k->grid[1] = k->grid[2] = k->block[1] = k->block[2] = 1;
	}
	for (int d = 0; d < 3; d++) {
		if (k->grid[d] > INT64_MAX / 65536 / blocks)
			return;
		blocks *= k->grid[d];
		threads *= k->block[d];
	}
	kw_launch_set(k, KW_M_GRID, (double)blocks);
	kw_launch_set(k, KW_M_BLOCK, (double)threads);
}

static void times(struct reader *r, struct kw_launch *k)
{
	double ns = number(r, END) - number(r, BEGIN);

	if (isnan(ns))
		ns = number(r, DURATION);
	if (isnan(ns))
		ns = number(r, AVERAGE);
	if (ns > 0) {
		r->timed = true;
		/* Runs for other counters take another time; the first is kept. */
		if (!kw_launch_has(k, KW_M_DURATION_NS))
			kw_launch_set(k, KW_M_DURATION_NS, ns);
	} else if (ns < 0) {
		kw_launches_note(r->out, r->line,
				 "a kernel that ends before it begins: its time was left out");
	}
}

static void count(struct reader *r, struct kw_launch *k, int counter, struct kw_str value)
{
	double v;

	if (!kw_number_read(value, KW_NUMBER_POINT, &v)) {
		if (kw_number_is_missing(value) && value.len)
			kw_launch_unknown(k, kw_str_from(counters[counter].name));
		return;
	}
	r->known++;
	kw_launch_set(k, counters[counter].metric, v * counters[counter].scale);
}

static void row(struct reader *r)
{
	static const struct {
		enum column column;
		int metric;
	} values[] = { { LDS, KW_M_STATIC_SMEM },
		       { SCRATCH, KW_M_SCRATCH },
		       { VGPRS, KW_M_REGISTERS },
		       { WAVE, KW_M_WAVE_LANES },
		       { CALLS, KW_M_INVOCATIONS } };
	struct kw_str kernel = plain(field(r, KERNEL)), name = field(r, COUNTER);
	struct kw_launch *k;
	int counter;

	if (r->at[AVERAGE] >= 0 &&
	    (kw_str_starts(kernel, "hsa_") || (kw_str_starts(kernel, "hip") && kernel.len > 3 &&
					       kernel.ptr[3] >= 'A' && kernel.ptr[3] <= 'Z'))) {
		kw_launches_note(r->out, r->line,
				 "calls of the runtime are no kernels; the summary of kernels is "
				 "in the file of `rocprofv3 --kernel-trace --stats`");
		return;
	}
	k = launch_of(r, kernel, field(r, DISPATCH));
	if (!k)
		return;
	shape(r, k);
	times(r, k);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		kw_launch_set(k, values[i].metric, number(r, values[i].column));
	for (size_t i = 0; i < r->columns && i < r->csv.count; i++)
		if (r->counter[i] >= 0)
			count(r, k, r->counter[i], r->csv.field[i]);
	if (name.len == 0)
		return;
	counter = counter_of(name);
	if (counter >= 0)
		count(r, k, counter, field(r, VALUE));
	else
		add_unknown(r, name);
}

/* A table of the same tools that no kernel is in. */
static const char *why_not(const struct reader *r)
{
	if (r->at[AGENT_TYPE] >= 0)
		return "this is the list of devices that rocprofv3 writes beside its results";
	if (r->at[DIRECTION] >= 0)
		return "this is rocprofv3's trace of copies";
	if (r->at[FUNCTION] >= 0)
		return "this is rocprofv3's trace of calls of the runtime";
	if (r->at[KERNEL] < 0)
		return "there is no column of kernels' names";
	return NULL;
}

/* What the file has not, by what its tool would have to be asked for. */
static void missing(struct reader *r)
{
	if (r->out->count == 0 && !r->out->note_count)
		kw_launches_note(r->out, 0,
				 r->headed ? "there is no dispatch of a kernel in this file"
					   : "there is no row of column names that is known here");
	if (r->out->count == 0)
		return;
	if (!r->timed)
		kw_launches_note(r->out, 0,
				 "there are no times in this file: rocprofv3 --kernel-trace "
				 "(rocprof --timestamp on) gives them");
	if (r->known == 0)
		kw_launches_note(
			r->out, 0,
			"there is no counter that is known here in this file, so what limits a "
			"kernel is not known: rocprofv3 --pmc FETCH_SIZE WRITE_SIZE, and in "
			"further runs L2CacheHit, VALUBusy, VALUUtilization, LDSBankConflict, "
			"MfmaUtil, OccupancyPercent");
	else if (kw_launch_has(r->out->list[0], KW_M_DRAM_READ) ||
		 kw_launch_has(r->out->list[0], KW_M_DRAM_WRITE))
		kw_launches_note(r->out, 0,
				 "bytes fetched and written are what L2 asks for; a cache behind "
				 "it (Infinity Cache) keeps a part of them from DRAM");
	if (r->unknown[0])
		kw_launches_note(r->out, 0, "counters without a meaning here: %s", r->unknown);
}

void kw_read_rocprof(const char *text, size_t len, struct kw_launches *out)
{
	struct reader r = { .out = out };
	struct kw_str rest = { text, len }, line, first = { "", 0 };
	const char *why = NULL;

	kw_csv_init(&r.csv, ',');
	while (!why && rest.ptr && kw_str_split(&rest, '\n', &line)) {
		r.line++;
		line = kw_str_trim(line);
		if (line.len == 0 || *line.ptr == '#')
			continue;
		/* Files of several runs, joined: another row of column names. */
		if (!kw_csv_split(&r.csv, line) ||
		    (r.headed && r.csv.count < r.columns && r.csv.count != 1)) {
			kw_launches_note(out, r.line,
					 "the row has %zu fields and the row of column names %zu; "
					 "it was left out",
					 r.csv.count, r.columns);
			continue;
		}
		if (!r.headed || (first.len && kw_str_eq(kw_str_trim(r.csv.field[0]), first))) {
			if (r.csv.count < 2)
				continue;
			if (!head(&r))
				continue;
			first = kw_str_from(kw_launches_intern(out, kw_str_trim(r.csv.field[0])));
			why = why_not(&r);
			if (why)
				kw_launches_note(out, r.line,
						 "%s; what explain reads is the file of kernels: "
						 "rocprofv3 --kernel-trace --output-format csv, or "
						 "--pmc with counters",
						 why);
		} else if (r.csv.count >= r.columns) {
			row(&r);
		}
	}
	out->form = r.at[COUNTER] >= 0	 ? "a row a counter"
		    : r.at[AVERAGE] >= 0 ? "a summary, a row a kernel"
					 : "a row a dispatch";
	missing(&r);
	kw_csv_release(&r.csv);
	kw_free(r.slots);
}
