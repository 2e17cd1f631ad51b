/* Counters by CUPTI against a library of its interface that is made here: what is asked, in which order, and what becomes of refusals. */
#include <fcntl.h>
#include <string.h>

#include "base/proc.h"
#include "device/cupti.h"
#include "profile/launches.h"
#include "profile/input.h"
#include "tap.h"
#include "temp.h"

static const char library[] =
	"#include \"device/cupti.h\"\n#include <stdlib.h>\n#include <string.h>\n"
	"static int is(const char *what) { const char *v = getenv(\"FAKE\"); return v && !strcmp(v, what); }\n"
	"static int metrics, started, stopped;\n"
	"int cuptiProfilerInitialize(struct cupti_head *p) { metrics = started = stopped = 0; return p->bytes == sizeof(*p) ? 0 : 1; }\n"
	"int cuptiDeviceGetChipName(struct cupti_chip *p) { p->name = \"gh100\"; return p->device == 0 ? 0 : 2; }\n"
	"int cuptiProfilerHostInitialize(struct cupti_host *p) { p->host = &metrics; return strcmp(p->chip, \"gh100\"); }\n"
	"int cuptiProfilerHostConfigAddMetrics(struct cupti_metrics *p)\n"
	"{ if (is(\"strange chip\") || strstr(p->names[0], \"fp64\")) return 1; metrics += (int)p->count; return 0; }\n"
	"int cuptiProfilerHostGetConfigImageSize(struct cupti_image_size *p) { p->bytes = 64; return 0; }\n"
	"int cuptiProfilerHostGetConfigImage(struct cupti_image *p) { memset(p->image, 7, p->bytes); return 0; }\n"
	"int cuptiRangeProfilerEnable(struct cupti_enable *p) { p->profiler = &started; return is(\"denied\") ? 35 : is(\"busy\") ? 26 : is(\"odd\") ? 27 : 0; }\n"
	"int cuptiRangeProfilerGetCounterDataSize(struct cupti_data_size *p) { p->bytes = 128; return p->count == (size_t)metrics ? 0 : 3; }\n"
	"int cuptiRangeProfilerCounterDataImageInitialize(struct cupti_data_init *p) { memset(p->data, 1, p->bytes); return 0; }\n"
	"int cuptiRangeProfilerSetConfig(struct cupti_config *p)\n"
	"{ return p->config[0] == 7 && p->data[0] == 1 && p->range == 1 && p->replay == 2 && p->levels == 1 ? 0 : 4; }\n"
	"int cuptiRangeProfilerStart(struct cupti_plain *p) { *(int *)p->profiler = 1; return 0; }\n"
	"int cuptiRangeProfilerStop(struct cupti_stop *p) { stopped = started; p->all = 1; return 0; }\n"
	"int cuptiRangeProfilerDecodeData(struct cupti_decode *p) { (void)p; return stopped ? 0 : 5; }\n"
	"int cuptiRangeProfilerDisable(struct cupti_plain *p) { (void)p; return 0; }\n"
	"int cuptiRangeProfilerGetCounterDataInfo(struct cupti_count *p) { p->ranges = is(\"one more\") ? 3 : 2; return 0; }\n"
	"int cuptiGetResultString(int r, const char **out) { *out = r == 27 ? \"NOT_SUPPORTED\" : \"ERROR\"; return 0; }\n"
	"#ifndef OLD\n"
	"int cuptiProfilerHostEvaluateToGpuValues(struct cupti_values *p)\n"
	"{ for (size_t i = 0; i < p->count; i++) p->values[i] = strstr(p->names[i], \"duration\") ? 2000.0 * (double)(p->range + 1)\n"
	"  : strstr(p->names[i], \"dram_throughput\") ? 91.5 : strstr(p->names[i], \"tensor\") ? 0.0 / 0.0 : 3; return 0; }\n"
	"#endif\n";

static struct kw_error err;
static struct kw_arena arena;

/* Two launches that are measured; what came of them as the readers see it. */
static void measured(const char *path, const char *fake, struct kw_launches *out, char *text, size_t room)
{
	static const struct cupti_launch two[] = {
		{ .name = "first<\"a,b\">", .grid = { 264, 1, 1 }, .block = { 256, 1, 1 }, .registers = 32, .static_smem_bytes = 4096, .units = 132,
		  .blocks_per_unit = 8, .warps_per_unit = 64, .major = 9 },
		{ .name = "second", .grid = { 16, 2, 1 }, .block = { 32, 4, 1 }, .registers = 20, .units = 132, .blocks_per_unit = 16, .warps_per_unit = 64,
		  .major = 9 },
	};
	char file[PATH_MAX + 16];
	struct kw_buf b;
	int fd;

	snprintf(file, sizeof(file), "%s/out.csv", temp_dir());
	fd = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	setenv("FAKE", fake, 1);
	kw_cupti_begin(path, NULL, 0);
	kw_cupti_end(two, 2, fd);
	close(fd);
	kw_buf_init(&b, 1 << 20);
	kw_file_read(file, 1 << 20, &b, &err);
	snprintf(text, room, "%.*s", (int)b.len, b.ptr ? b.ptr : "");
	kw_launches_init(out, &arena, "out.csv");
	if (b.ptr)
		kw_read_ncu(b.ptr, b.len, out);
	kw_buf_release(&b);
}

static bool build(const char *path, const char *source, const char *flag)
{
	char include[PATH_MAX + 16];
	const char *top = getenv("KW_TOP");
	const char *argv[] = { "cc", "-shared", "-fPIC", "-w", include, flag, "-o", path, source, NULL };
	struct kw_proc_opts o = { .timeout_ms = 60000, .max_out_bytes = 1 << 20 };
	struct kw_proc_result r;
	bool good;

	snprintf(include, sizeof(include), "-I%s/src", top ? top : ".");
	if (kw_proc_run(argv, &o, &r, &err) != KW_OK)
		return false;
	good = r.exit_code == 0;
	kw_proc_result_release(&r);
	return good;
}

static void good_run(const char *path)
{
	static char text[1 << 16];
	struct kw_launches l;

	measured(path, "", &l, text, sizeof(text));
	is_int((long long)l.count, 2, "both launches are there");
	if (l.count < 2)
		return;
	is_str(l.list[0]->kernel, "first<\"a,b\">", "with their names, quotes and commas in them");
	ok(l.list[0]->value[KW_M_DURATION_NS] > 1999 && l.list[0]->value[KW_M_DURATION_NS] < 2001, "time in ns: %g", l.list[0]->value[KW_M_DURATION_NS]);
	ok(l.list[1]->value[KW_M_DURATION_NS] > 3999, "each has its own: %g", l.list[1]->value[KW_M_DURATION_NS]);
	ok(l.list[0]->value[KW_M_DRAM_PCT] > 91.4, "counters by the names of the other tool: %g", l.list[0]->value[KW_M_DRAM_PCT]);
	ok(!kw_launch_has(l.list[0], KW_M_FP64_PCT), "what the chip does not have is missing");
	ok(!kw_launch_has(l.list[0], KW_M_TENSOR_PCT), "what is no number is missing, not zero");
	ok(l.list[0]->value[KW_M_WAVES] > 0.249 && l.list[0]->value[KW_M_WAVES] < 0.251, "waves follow from the launch: %g", l.list[0]->value[KW_M_WAVES]);
	ok(l.list[0]->value[KW_M_OCCUPANCY_PCT] > 99.9, "and occupancy: %g", l.list[0]->value[KW_M_OCCUPANCY_PCT]);
	is_int((long long)l.list[1]->value[KW_M_GRID], 32, "a grid of two dimensions");
	is_int((long long)l.list[1]->value[KW_M_BLOCK], 128, "and such a block");
	is_int((long long)l.list[0]->value[KW_M_REGISTERS], 32, "registers");
	is_int((long long)l.note_count, 0, "nothing to remark: %s", l.note_count ? l.notes[0].text : "");
}

static void refusals(const char *path, const char *old)
{
	static char text[1 << 16];
	struct kw_launches l;

	measured(path, "denied", &l, text, sizeof(text));
	ok(l.count == 0 && l.outcome_count == 1, "no permission is an outcome, not zeros");
	ok(strstr(text, "ERR_NVGPUCTRPERM") != NULL, "in the words that a rule explains: %.80s", text);
	measured(path, "busy", &l, text, sizeof(text));
	ok(l.count == 0 && l.outcome_count == 1, "so is another profiler that holds the counters: %.80s", text);
	measured(path, "odd", &l, text, sizeof(text));
	ok(strstr(text, "cuptiRangeProfilerEnable: NOT_SUPPORTED (27)") != NULL, "another refusal is told with its call: %.80s", text);
	ok(l.count == 0 && l.note_count + l.outcome_count > 0, "and is not lost by the reader");
	measured(path, "one more", &l, text, sizeof(text));
	ok(l.count == 0 && strstr(text, "3 launches were measured of 2") != NULL, "ranges that fit no launch are given to none: %.80s", text);
	measured(path, "strange chip", &l, text, sizeof(text));
	ok(strstr(text, "has none of the metrics") != NULL, "a chip without any: %.80s", text);
	measured(old, "", &l, text, sizeof(text));
	ok(strstr(text, "CUDA 12.6 or later") != NULL, "a library that is too old: %.120s", text);
	measured("/nowhere/libcupti.so", "", &l, text, sizeof(text));
	ok(strstr(text, "install Nsight Compute") != NULL && strstr(text, "KWRIGHT_CUPTI") != NULL, "none at all: %.160s", text);
}

int main(void)
{
	char source[PATH_MAX + 16], path[PATH_MAX + 16], old[PATH_MAX + 16];

	kw_arena_init(&arena, 64 << 20);
	snprintf(source, sizeof(source), "%s/fake.c", temp_dir());
	snprintf(path, sizeof(path), "%s/libcupti.so", temp_dir());
	snprintf(old, sizeof(old), "%s/libold.so", temp_dir());
	if (kw_file_write(source, library, sizeof(library) - 1, &err) != KW_OK || !build(path, source, "-DNEW") || !build(old, source, "-DOLD")) {
		printf("1..0 # SKIP no C compiler\n");
		return 0;
	}
	good_run(path);
	refusals(path, old);
	kw_arena_release(&arena);
	return done();
}
