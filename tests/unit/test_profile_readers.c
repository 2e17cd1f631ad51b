/* Numbers, units and names of profilers; records of CSV; what an input is; names, conflicts of banks, tokens. */
#include <math.h>

#include "profile/csv.h"
#include "profile/input.h"
#include "profile/ncu.h"
#include "profile/trace.h"

#include "tap.h"

static struct kw_arena arena;

static bool same(double got, double want)
{
	return fabs(got - want) <= 1e-9 * fabs(want);
}

static void test_numbers(void)
{
	static const struct {
		const char *text;
		enum kw_number_style style;
		double value; /* NaN: none */
	} list[] = {
		{ "1,359,449", KW_NUMBER_POINT, 1359449 },
		{ "1.359.449,5", KW_NUMBER_COMMA, 1359449.5 },
		{ "95.02", KW_NUMBER_POINT, 95.02 },
		{ "95,02", KW_NUMBER_COMMA, 95.02 },
		{ "1 359 449", KW_NUMBER_POINT, 1359449 },
		{ "1\xc2\xa0" "359", KW_NUMBER_COMMA, 1359 },
		{ "1\xe2\x80\xaf" "359,5", KW_NUMBER_COMMA, 1359.5 },
		{ "1'359", KW_NUMBER_POINT, 1359 },
		{ " 12.5% ", KW_NUMBER_POINT, 12.5 },
		{ "-3e-2", KW_NUMBER_POINT, -0.03 },
		{ "12 (1; 2; 3)", KW_NUMBER_POINT, 12 },
		{ "0", KW_NUMBER_POINT, 0 },
		{ "(!) n/a", KW_NUMBER_POINT, NAN },
		{ "PolicySpread", KW_NUMBER_POINT, NAN },
		{ "", KW_NUMBER_POINT, NAN },
		{ "1.2.3", KW_NUMBER_POINT, NAN },
		{ "12abc", KW_NUMBER_POINT, NAN },
		{ "1e999", KW_NUMBER_POINT, NAN },
	};

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		double v = NAN;
		bool is = kw_number_read(kw_str_from(list[i].text), list[i].style, &v);

		ok(is == !isnan(list[i].value) && (!is || same(v, list[i].value)), "'%s' is %g", list[i].text,
		   list[i].value);
	}
	ok(kw_number_is_missing(KW_STR("(!) n/a")) && kw_number_is_missing(KW_STR("N/A")) &&
		   kw_number_is_missing(KW_STR("nan")) && !kw_number_is_missing(KW_STR("0")),
	   "n/a is missing, 0 is not");
}

static void test_styles(void)
{
	static const struct {
		const char *text;
		enum kw_number_style style;
	} list[] = {
		{ "\"127.0.0.1\",\"39.60\"", KW_NUMBER_POINT },
		{ "\"127.0.0.1\",\"39,60\"", KW_NUMBER_COMMA },
		{ "\"16,777,216\"", KW_NUMBER_POINT },
		{ "\"16.777.216\"", KW_NUMBER_COMMA },
		{ "\"1,359\"", KW_NUMBER_POINT },
		{ "\"0,500\"", KW_NUMBER_COMMA },
		{ "\"1.234,5\"", KW_NUMBER_COMMA },
		{ "a;b\n1,5;2,5\n", KW_NUMBER_COMMA },
		{ "a,b\n1,5\n2,25\n", KW_NUMBER_POINT },
		{ "  Duration   us   1,25\n", KW_NUMBER_COMMA },
		{ "==PROF== Profiling \"k\" - 0: 0%....100% - 9 passes\nloss 0.5\n  Duration   us   1,25\n  Grid Size    4.096\n  Threads    1.048.576\n",
		  KW_NUMBER_COMMA },
		{ "no numbers", KW_NUMBER_POINT },
	};

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		is_int(kw_number_style_of(list[i].text, strlen(list[i].text)), list[i].style,
		       "the decimal mark of text %zu", i);
}

/* A raw page's columns stand in the order of the alphabet; several come near to one metric. */
static void test_nearest_column(void)
{
	static const char page[] = "\"ID\",\"Kernel Name\",\"gpu__compute_memory_access_throughput.avg.pct_of_peak_sustained_elapsed\","
				   "\"gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed\",\"sm__cycles_active.avg\"\n"
				   "\"\",\"\",\"%\",\"%\",\"cycle\"\n\"0\",\"f\",\"48.84\",\"55.49\",\"100\"\n";
	struct kw_launches l;
	struct kw_arena a;

	kw_arena_init(&a, 16 << 20);
	kw_launches_init(&l, &a, "raw.csv");
	kw_read_ncu(page, sizeof(page) - 1, &l);
	is_int(l.count, 1, "a raw page with two shares of memory");
	ok(l.count == 1 && l.list[0]->value[KW_M_MEMORY_PCT] == 55.49, "the one that is the busiest unit's is read");
	is_int(l.note_count, 0, "and nothing is noted");
	kw_arena_release(&a);
}

static void test_units(void)
{
	static const struct {
		const char *unit;
		enum kw_quantity quantity;
		double scale;
	} list[] = {
		{ "usecond", KW_QUANTITY_TIME, 1e3 },	   { "ms", KW_QUANTITY_TIME, 1e6 },
		{ "\xce\xbcs", KW_QUANTITY_TIME, 1e3 },	   { "Kbyte/block", KW_QUANTITY_BYTES, 1e3 },
		{ "Gbyte/second", KW_QUANTITY_RATE, 1e9 }, { "Gbyte/s", KW_QUANTITY_RATE, 1e9 },
		{ "byte/nsecond", KW_QUANTITY_RATE, 1e9 }, { "Tbyte/s", KW_QUANTITY_RATE, 1e12 },
		{ "cycle/nsecond", KW_QUANTITY_HZ, 1e9 },  { "Mhz", KW_QUANTITY_HZ, 1e6 },
		{ "%", KW_QUANTITY_PCT, 1 },		   { "", KW_QUANTITY_COUNT, 1 },
		{ "inst/cycle", KW_QUANTITY_COUNT, 1 },	   { "[us]", KW_QUANTITY_TIME, 1e3 },
		{ "byte/request", KW_QUANTITY_COUNT, 1 },  { "sectors", KW_QUANTITY_COUNT, 1 },
	};
	enum kw_quantity q;
	double scale;

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		ok(kw_unit_find(kw_str_from(list[i].unit), &q, &scale) && q == list[i].quantity &&
			   same(scale, list[i].scale),
		   "unit '%s'", list[i].unit);
	ok(!kw_unit_find(KW_STR("fortnight"), &q, &scale) && !kw_unit_find(KW_STR("byte/fortnight"), &q, &scale),
	   "an unknown unit");
}

static void test_names(void)
{
	char out[128];

	is_int(kw_metric_find(KW_STR("Memory Throughput"), KW_QUANTITY_PCT), KW_M_MEMORY_PCT,
	       "a name by its unit: a share");
	is_int(kw_metric_find(KW_STR("memory throughput"), KW_QUANTITY_RATE), KW_M_DRAM_RATE, "and a rate");
	is_int(kw_metric_find(KW_STR("SOL FB"), KW_QUANTITY_PCT), KW_M_DRAM_PCT, "a name of 2020");
	is_int(kw_metric_find(KW_STR("Duration"), KW_QUANTITY_BYTES), -1, "a unit that cannot be");
	is_int(kw_metric_find(KW_STR("no such"), KW_QUANTITY_COUNT), -1, "none of ours");
	is_str(kw_metric_nearest("lts__t_sectors_hit_rate.pct"), "lts__t_sector_hit_rate.pct", "a slip");
	is_str(kw_plain_name("_Z6updateIdEvPT_", out, sizeof(out)), "update", "a template");
	is_str(kw_plain_name("_ZN2ns3fooEPf", out, sizeof(out)), "ns::foo", "a namespace");
	is_str(kw_plain_name("plain_c", out, sizeof(out)), "plain_c", "a plain name");
	is_str(kw_plain_name("_Z999x", out, sizeof(out)), "_Z999x", "a length that lies");
	for (int m = 0; m < KW_M_COUNT; m++)
		if (kw_metric_by_name(kw_metric_name(m)) != m)
			ok(false, "two metrics are called %s", kw_metric_name(m));
}

/* Cases of a column read by a warp: bank = (lane * stride) mod 32. */
static void test_banks(void)
{
	is_int(kw_bank_conflict_ways(32, 0), 32, "32 words: 32-way");
	is_int(kw_bank_conflict_ways(64, 0), 32, "64 words: 32-way");
	is_int(kw_bank_conflict_ways(16, 0), 16, "16 words: 16-way");
	is_int(kw_bank_conflict_ways(33, 0), 1, "33 words: none");
	is_int(kw_bank_conflict_ways(8, 0), 8, "8 words: 8-way");
	is_int(kw_bank_conflict_ways(36, 0), 4, "36 words (a row padded for float4): 4-way");
	is_int(kw_bank_conflict_ways(32, 5), 1, "a swizzle of 5 bits: none");
	is_int(kw_bank_conflict_ways(32, 3), 4, "of 3 bits: 4-way");
	is_int(kw_bank_conflict_ways(32, 2), 8, "of 2 bits: 8-way");
}

static void test_csv(void)
{
	static const struct {
		const char *line;
		size_t count;
		const char *first, *last;
		bool whole;
	} list[] = {
		{ "a,b,c", 3, "a", "c", true },
		{ "\"a\",\"b\",", 3, "a", "", true },
		{ "\"k(int, float)\",\"2\"", 2, "k(int, float)", "2", true },
		{ "\"k<\"\"a\"\">\",\"2\"", 2, "k<\"a\">", "2", true },
		{ "\"k<\"a\">\",\"2\"", 2, "k<\"a\">", "2", true },
		{ "\"\",\"\"", 2, "", "", true },
		{ "\"a\",\"b", 2, "a", "b", false },
		{ "\"", 1, "", "", false },
		{ "", 1, "", "", true },
	};
	struct kw_csv c;

	kw_csv_init(&c, ',');
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		bool whole = kw_csv_split(&c, kw_str_from(list[i].line));

		ok(whole == list[i].whole && c.count == list[i].count && kw_str_eqz(c.field[0], list[i].first) &&
		   kw_str_eqz(c.field[c.count - 1], list[i].last), "%s has %zu fields", list[i].line, c.count);
	}
	kw_csv_release(&c);
}

static void test_kinds(void)
{
	static const struct {
		const char *name, *text;
		enum kw_input_kind kind;
	} list[] = {
		{ "x", "", KW_INPUT_EMPTY },
		{ "x", " \n\n", KW_INPUT_EMPTY },
		{ "x.csv", "\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n", KW_INPUT_NCU },
		{ "x", "==ERROR== ERR_NVGPUCTRPERM - no\n", KW_INPUT_NCU },
		{ "x", "  k(int), 2021-Mar-12 20:20:45, Context 1, Stream 7\n", KW_INPUT_NCU },
		{ "x", "//\n.version 8.0\n.target sm_80\n.address_size 64\n", KW_INPUT_PTX },
		{ "x", "\t\tFunction : k\n        /*0000*/   MOV R1, c[0x0][0x28] ;\n", KW_INPUT_SASS },
		{ "x", "ptxas info    : Used 17 registers\n", KW_INPUT_LOG },
		{ "x", "__global__ void k(float *x) { x[0] = 1; }\n", KW_INPUT_CUDA },
		{ "k.cl", "void f() { }", KW_INPUT_OPENCL },
		{ "x", "#include <math.h>\nvoid f(float *x) { x[0] = 1; }\n", KW_INPUT_C },
		{ "x", "import torch\ndef f(x): return x\n", KW_INPUT_PYTHON },
		{ "x", "blocks,duration_us\n1,2\n", KW_INPUT_TABLE },
		{ "x", "\n Performance counter stats for 'ls':\n\n  1,000  cycles\n", KW_INPUT_PERF_STAT },
		{ "x", "\"Index\",\"KernelName\",\"gpu-id\",\"DurationNs\"\n", KW_INPUT_ROCPROF },
		{ "x", "Dispatch_ID,Kernel_Name,Start_Timestamp,End_Timestamp\n", KW_INPUT_ROCPROF },
		{ "x", "\"Counter_Value\",\"Counter_Name\",\"Kernel_Name\"\n", KW_INPUT_ROCPROF },
		{ "x", "{ \"rocprofiler-sdk-tool\": [] }\n", KW_INPUT_ROCPROF_OTHER },
		{ "x", "{ \"traceEvents\": [] }\n", KW_INPUT_TRACE },
		{ "x", "Name    Self CPU %    # of Calls\n", KW_INPUT_TORCH_TABLE },
		{ "x.json", "\x1f\x8b\x08", KW_INPUT_BINARY },
		{ "x.json", "\x1f\x8b\x08\x01", KW_INPUT_COMPRESSED },
		{ "x", "==12== NVPROF is profiling process 12\n", KW_INPUT_NVPROF },
		{ "x", "File a, line 3\n  f(0, 1)\nValueError: bad\n", KW_INPUT_LOG },
		{ "x", "hello world\n", KW_INPUT_OTHER },
	};

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		is_str(kw_input_name(kw_input_recognise(list[i].name, list[i].text, strlen(list[i].text))),
		       kw_input_name(list[i].kind), "kind %zu", i);
	is_int(kw_input_recognise("x", "NVR\0abc", 7), KW_INPUT_NCU_REPORT, "a report of ncu");
	is_int(kw_input_recognise("x", "\x7f" "ELF\0\0\0\1", 8), KW_INPUT_BINARY, "bytes of another kind");
}

/* A form, with the same two launches in it. */
static void read_text(const char *text, struct kw_launches *l)
{
	kw_launches_init(l, &arena, "f");
	kw_read_ncu(text, strlen(text), l);
}

static void test_notes(void)
{
	struct kw_launches l;

	read_text("\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n"
		  "\"0\",\"k\",\"Duration\",\"us\",\"2\"\n\"0\",\"k\"\n\"0\",\"k\",\"Grid "
		  "Size\",\"\",\"many\"\n\"0\",\"k\",\"L2 Hit Rate\",\"%\",\"5",
		  &l);
	ok(l.count == 1 && same(l.list[0]->value[KW_M_DURATION_NS], 2000), "rows that are whole are read");
	is_int(l.note_count, 3, "the others are named");
	is_int(l.notes[0].line, 3, "a row that is too short, by its line");
	is_int(l.notes[1].line, 4, "a value that is no number");
	is_int(l.notes[2].line, 5, "a row that is cut off");
	ok(!kw_launch_has(l.list[0], KW_M_GRID) && !kw_launch_has(l.list[0], KW_M_L2_HIT_PCT), "and are missing");
	read_text("\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\",\"Rule Name\",\"Rule "
		  "Type\",\"Rule Description\"\n"
		  "\"0\",\"k\",\"\",\"\",\"\",\"R\",\"OPT\",\"two\nlines, with 27% of its fp64 peak\"\n",
		  &l);
	ok(l.count == 1 && l.list[0]->rules && same(l.list[0]->value[KW_M_SAID_FP64_PEAK_PCT], 27),
	   "a description over two lines");
	read_text("\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric "
		  "Value\"\n\"0\",\"k\",\"Duration\",\"us\",\"2\"\n"
		  "\"Kernel Name\",\"ID\",\"Metric Value\",\"Metric Unit\",\"Metric "
		  "Name\"\n\"k\",\"0\",\"3\",\"us\",\"Duration\"\n",
		  &l);
	ok(l.count == 2 && same(l.list[1]->value[KW_M_DURATION_NS], 3000),
	   "a second export with another order begins anew");
}

/* Pieces of `step` bytes: where a text is cut says nothing. */
static void read_trace_by(const char *text, size_t step, struct kw_launches *l)
{
	size_t len = strlen(text);
	struct kw_trace t;

	kw_launches_init(l, &arena, "t.json");
	kw_trace_init(&t, l);
	for (size_t i = 0; i < len; i += step)
		kw_trace_add(&t, text + i, len - i < step ? len - i : step);
	kw_trace_finish(&t);
}

static void test_trace(void)
{
	/* Braces and quotes in a name, an event that is broken, a list of another key, devices behind the events. */
	static const char text[] =
		"{ \"other\": [ {\"cat\": \"kernel\", \"name\": \"no\", \"ts\": 1, \"dur\": 1} ],\n"
		"\"traceEvents\": [\n"
		"{\"cat\": \"kernel\", \"name\": \"a<{\\\"]}>\", \"ts\": 1, \"dur\": 2, \"args\": {\"device\": 3, \"grid\": [7, 1, 1], \"block\": [64, 1, 1]}},\n"
		"{\"cat\": \"cpu_op\", \"name\": \"kernel\", \"args\": {\"dims\": [[1], []]}},\n"
		"{\"cat\": \"kernel\", \"name\": nan},\n"
		"{\"cat\": \"Kernel\", \"name\": \"a<{\\\"]}>\", \"ts\": 5, \"dur\": 4, \"args\": {\"device\": 3, \"grid\": [7, 1, 1], \"block\": [64, 1, 1]}},\n"
		"{\"cat\": \"kernel\", \"name\": \"a<{\\\"]}>\", \"ts\": 9, \"dur\": 1, \"args\": {\"device\": 3, \"grid\": [8, 1, 1], \"block\": [64, 1, 1]}}\n"
		"], \"deviceProperties\": [ {\"id\": 3, \"name\": \"NVIDIA H200\"} ] }\n";
	static const size_t steps[] = { 1, 7, 64, sizeof(text) };
	struct kw_launches l;

	for (size_t i = 0; i < 4; i++) {
		read_trace_by(text, steps[i], &l);
		ok(l.count == 2 && strcmp(l.list[0]->kernel, "a<{\"]}>") == 0 && same(l.list[0]->value[KW_M_DURATION_NS], 3000) &&
			   same(l.list[0]->value[KW_M_INVOCATIONS], 2) && l.list[1]->grid[0] == 8,
		   "a trace in pieces of %zu bytes", steps[i]);
		ok(strcmp(l.list[1]->device, "NVIDIA H200") == 0, "its device, told last");
		ok(l.note_count > 0 && l.notes[0].line == 5, "the broken event, by its line");
	}
	/* Cut at any byte: what stands before is used, and nothing else happens. */
	for (size_t n = 0; n + 1 < sizeof(text); n++) {
		char *cut = kw_arena_strndup(&arena, text, n);

		read_trace_by(cut, n + 1, &l);
		ok(l.count <= 2, "a trace that is cut after %zu bytes", n);
	}
	read_trace_by("{ \"traceEvents\": [ nonsense", 100, &l);
	ok(l.count == 0 && l.note_count > 0 && l.notes[0].line == 1, "what is no event is named");
}

int main(void)
{
	kw_arena_init(&arena, 64 << 20);
	test_numbers();
	test_styles();
	test_units();
	test_nearest_column();
	test_names();
	test_banks();
	test_csv();
	test_kinds();
	test_notes();
	test_trace();
	kw_arena_release(&arena);
	return done();
}
