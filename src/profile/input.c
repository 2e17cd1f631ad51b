#include "profile/input.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cubin.h"
#include "profile/ncu.h"

const char *kw_input_name(enum kw_input_kind k)
{
	static const char *const names[] = {
#define X(e, name) name,
		KW_INPUT_LIST(X)
#undef X
	};

	return names[k];
}

static bool ends(const char *name, const char *with)
{
	size_t n = strlen(name), m = strlen(with);

	return n >= m && strcmp(name + n - m, with) == 0;
}

static bool is_text(struct kw_str s)
{
	size_t odd = 0;

	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.ptr[i];

		if (c == 0)
			return false;
		odd += c < 32 && c != '\n' && c != '\r' && c != '\t' && c != 27 && c != '\f';
	}
	return odd * 50 < s.len + 50;
}

/* Words that only one kind of file has; the first that is found decides. */
static const struct {
	const char *word, *also;
	enum kw_input_kind kind;
} marks[] = {
	{ "NVPROF is profiling", "Section: GPU Speed Of Light", KW_INPUT_NCU },
	{ "NVPROF is profiling", NULL, KW_INPUT_NVPROF },
	{ "==NVPROF==", NULL, KW_INPUT_NVPROF },
	{ "\"traceEvents\"", NULL, KW_INPUT_TRACE },
	{ "\"nbformat\"", "\"cells\"", KW_INPUT_NOTEBOOK },
	{ "\"cell_type\"", "\"source\"", KW_INPUT_NOTEBOOK },
	{ "Self CPU %", "# of Calls", KW_INPUT_TORCH_TABLE },
	{ "Flat profile:", "cumulative", KW_INPUT_GPROF },
	{ "rocprofiler-sdk", NULL, KW_INPUT_ROCPROF_OTHER },
	{ "System Speed-of-Light", "VALU", KW_INPUT_ROCPROF_OTHER },
	{ "\"gpu_arch\": \"gfx", NULL, KW_INPUT_ROCPROF_OTHER },
	{ "KernelName", "gpu-id", KW_INPUT_ROCPROF },
	{ "KernelName", "BeginNs", KW_INPUT_ROCPROF },
	{ "KernelName", "DurationNs", KW_INPUT_ROCPROF },
	{ "Kernel_Name", "Arch_VGPR", KW_INPUT_ROCPROF },
	{ "Kernel_Name", "Start_Timestamp", KW_INPUT_ROCPROF },
	{ "Counter_Name", "Counter_Value", KW_INPUT_ROCPROF },
	{ "TotalDurationNs", "AverageNs", KW_INPUT_ROCPROF },
	{ "Correlation_Id", "Start_Timestamp", KW_INPUT_ROCPROF },
	{ "Node_Id", "Agent_Type", KW_INPUT_ROCPROF },
	{ "Metric Description", "Metric result:", KW_INPUT_NVPROF },
	{ "\"Metric Description\"", "\"Invocations\"", KW_INPUT_NVPROF },
	{ "\"Address\",\"Source\"", "Warp Stall Sampling", KW_INPUT_NCU_SOURCE },
	{ "\"Source\"", "\"Instructions Executed\"", KW_INPUT_NCU_SOURCE },
	{ "\"Metric Name\"", "\"Kernel Name\"", KW_INPUT_NCU },
	{ "Metric Name", "Metric Value", KW_INPUT_NCU },
	{ "| Metric Name |", "| Metric Unit |", KW_INPUT_NCU },
	{ "Section: GPU Speed Of Light", NULL, KW_INPUT_NCU },
	{ "\"ID\"", "__time_duration", KW_INPUT_NCU },
	{ "\"ID\"", "launch__", KW_INPUT_NCU },
	{ "Kernel Name", "__throughput", KW_INPUT_NCU },
	{ "Kernel Name", "gpu__time_duration", KW_INPUT_NCU },
	{ "Kernel Name", "launch__", KW_INPUT_NCU },
	{ "\"Kernel Name\"", "\"ID\"", KW_INPUT_NCU },
	{ "Function Name", "\"ID\"", KW_INPUT_NCU },
	{ ", Context ", "Section: ", KW_INPUT_NCU },
	{ ", Context ", ", Stream ", KW_INPUT_NCU },
	{ "\"ID\",\"Process ID\"", NULL, KW_INPUT_NCU },
	{ "\"ID\",\"Kernel", NULL, KW_INPUT_NCU },
	{ "ERR_NVGPUCTRPERM", NULL, KW_INPUT_NCU },
	{ "No kernels were profiled", NULL, KW_INPUT_NCU },
	{ "==PROF== ", NULL, KW_INPUT_NCU },
	{ "==ERROR== ", NULL, KW_INPUT_NCU },
	{ "Time (%)", "Total Time (", KW_INPUT_NSYS },
	{ "Time(%)", "Total Time", KW_INPUT_NSYS },
	{ "CorrId", "GrdX", KW_INPUT_NSYS },
	{ "Performance counter stats for", NULL, KW_INPUT_PERF_STAT },
	{ "\"counter-value\"", "\"event\"", KW_INPUT_PERF_STAT },
	{ "\n.version ", "\n.target ", KW_INPUT_PTX },
	{ "//--------------------- .text.", NULL, KW_INPUT_SASS },
	{ "/*0000*/", ";", KW_INPUT_SASS },
	{ "code for sm_", "Function : ", KW_INPUT_SASS },
	{ ".headerflags", "/*00", KW_INPUT_SASS },
	{ "-Rpass-analysis=kernel-resource-usage", NULL, KW_INPUT_LOG },
	{ "ptxas info ", NULL, KW_INPUT_LOG },
	{ "ptxas error ", NULL, KW_INPUT_LOG },
	{ "ptxas fatal ", NULL, KW_INPUT_LOG },
	{ "ptxas /", "error   :", KW_INPUT_LOG },
	{ "ptxas ", "; error   :", KW_INPUT_LOG },
	{ " REG:", " STACK:", KW_INPUT_LOG },
	{ "========= COMPUTE-SANITIZER", NULL, KW_INPUT_LOG },
	{ "========= CUDA-MEMCHECK", NULL, KW_INPUT_LOG },
	{ "error: cannot open source file", NULL, KW_INPUT_LOG },
	{ "out of resources", NULL, KW_INPUT_LOG },
	{ "OutOfResources", NULL, KW_INPUT_LOG },
	{ "out of resource", NULL, KW_INPUT_LOG },
	{ "Traceback (most recent call last)", NULL, KW_INPUT_LOG },
	{ "catastrophic error:", NULL, KW_INPUT_LOG },
	{ "CUDA error:", NULL, KW_INPUT_LOG },
	{ ": warning #", NULL, KW_INPUT_LOG },
	{ "[-Wpass-failed", NULL, KW_INPUT_LOG },
	{ ": remark: loop not vectorized", NULL, KW_INPUT_LOG },
	{ ": remark: vectorized loop", NULL, KW_INPUT_LOG },
};

/* Source, by what the languages have alone. */
static enum kw_input_kind source_kind(const char *name, struct kw_str s)
{
	bool cuda = kw_str_holds(s, "__global__") || kw_str_holds(s, "<<<") || kw_str_holds(s, "cuda_runtime.h");
	bool hip = cuda && (ends(name, ".hip") || kw_str_holds(s, "hip_runtime.h") || kw_str_holds(s, "hipLaunchKernelGGL") || kw_str_holds(s, "hipMalloc("));
	bool opencl = kw_str_holds(s, "__kernel ") || kw_str_holds(s, "get_global_id(") || kw_str_holds(s, "\nkernel void");
	bool python = kw_str_holds(s, "import torch") || kw_str_holds(s, "import triton") || kw_str_holds(s, "\ndef ") ||
		      kw_str_holds(s, "@triton") || kw_str_starts(s, "def ") || kw_str_starts(s, "import ");

	if (ends(name, ".py") || (python && !cuda && !kw_str_holds(s, "#include")))
		return KW_INPUT_PYTHON;
	if (cuda && !ends(name, ".c"))
		return hip ? KW_INPUT_HIP : KW_INPUT_CUDA;
	if (opencl || ends(name, ".cl"))
		return KW_INPUT_OPENCL;
	if (ends(name, ".cu") || ends(name, ".cuh"))
		return KW_INPUT_CUDA;
	if (ends(name, ".c") || ends(name, ".h") || kw_str_holds(s, "#include") || kw_str_holds(s, "#pragma omp") ||
	    (kw_str_holds(s, "void ") && kw_str_holds(s, ";") && kw_str_holds(s, "{")))
		return KW_INPUT_C;
	return KW_INPUT_OTHER;
}

static bool has_number(struct kw_str row, char separator)
{
	struct kw_str field;
	double v;

	while (kw_str_split(&row, separator, &field)) {
		field = kw_str_trim(field);
		if (field.len > 2 && *field.ptr == '"')
			field = (struct kw_str){ field.ptr + 1, field.len - 2 };
		if (kw_number_read(field, KW_NUMBER_POINT, &v))
			return true;
	}
	return false;
}

/* The first line that holds anything has fields of which the second line has as many, and numbers in them. */
static bool is_table(struct kw_str s)
{
	struct kw_str rest = s, head = { "", 0 }, row = { "", 0 }, line;
	static const char separators[] = ",;\t";

	while (kw_str_split(&rest, '\n', &line)) {
		line = kw_str_trim(line);
		if (line.len == 0 || *line.ptr == '#')
			continue;
		if (head.len == 0) {
			head = line;
			continue;
		}
		row = line;
		break;
	}
	for (const char *c = separators; *c && row.len; c++) {
		size_t a = 0, b = 0, digits = 0;

		for (size_t i = 0; i < head.len; i++)
			a += head.ptr[i] == *c;
		for (size_t i = 0; i < row.len; i++) {
			b += row.ptr[i] == *c;
			digits += isdigit((unsigned char)row.ptr[i]) != 0;
		}
		if (a >= 1 && a == b && digits > 0 && has_number(row, *c) &&
		    isalpha((unsigned char)head.ptr[*head.ptr == '"']) && !kw_str_holds(head, "{") && !kw_str_holds(head, "(void") &&
		    !kw_str_holds(head, ";\t"))
			return true;
	}
	return false;
}

/* "LDG.E.64 R4, [R2] ;", behind an address or not. */
static bool is_instruction(struct kw_str line)
{
	const char *end = kw_str_starts(line, "/*") ? memmem(line.ptr, line.len, "*/", 2) : NULL;
	size_t n = 0;

	if (end && end - line.ptr >= 6 && strspn(line.ptr + 2, "0123456789abcdef") == (size_t)(end - line.ptr - 2))
		line = kw_str_trim((struct kw_str){ end + 2, (size_t)(line.ptr + line.len - end - 2) });
	if (kw_str_starts(line, "@"))
		while (line.len && *line.ptr != ' ')
			line = (struct kw_str){ line.ptr + 1, line.len - 1 };
	line = kw_str_trim(line);
	while (n < line.len && (isupper((unsigned char)line.ptr[n]) || isdigit((unsigned char)line.ptr[n]) || line.ptr[n] == '.' || line.ptr[n] == '_'))
		n++;
	return n >= 3 && n + 3 < line.len && isupper((unsigned char)*line.ptr) && line.ptr[n] == ' ' && memchr(line.ptr, ';', line.len) &&
	       (memmem(line.ptr + n, line.len - n, " R", 2) || memmem(line.ptr + n, line.len - n, "[R", 2) || memmem(line.ptr + n, line.len - n, " P", 2));
}

/* A part of a disassembly, as it is copied from one: most lines are instructions. */
static bool is_part_of_sass(struct kw_str s)
{
	int lines = 0, instructions = 0;
	struct kw_str line;

	while (lines < 200 && s.ptr && kw_str_split(&s, '\n', &line)) {
		line = kw_str_trim(line);
		/* Behind each instruction its code stands, and often on a line of its own. */
		if (line.len == 0 || kw_str_starts(line, "/* 0x") || kw_str_starts(line, ".") || kw_str_starts(line, "//"))
			continue;
		lines++;
		instructions += is_instruction(line);
	}
	return instructions >= 3 && 2 * instructions > lines;
}

/* A message that some rule explains stands in the file: words of errors. */
static bool is_log(struct kw_str s)
{
	static const char *const words[] = { "error:",
					     "Error:",
					     "error :",
					     "ERROR",
					     "RuntimeError",
					     "warning:",
					     "error 222",
					     "error 701",
					     "bytes spill",
					     "registers",
					     "too many resources",
					     "arange",
					     "not supported on .target",
					     "unsupported toolchain",
					     "optimized: loop",
					     "missed: ",
					     "SM90A",
					     "No such file",
					     "fatal error",
					     "Error",
					     "NV_IF_ELSE_TARGET" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (kw_str_holds(s, words[i]))
			return true;
	return false;
}

enum kw_input_kind kw_input_recognise(const char *name, const char *text, size_t len)
{
	struct kw_str s = { text, len < (1 << 20) ? len : 1 << 20 };
	struct kw_cubin cubin;
	enum kw_input_kind kind;

	if (kw_str_trim(s).len == 0)
		return KW_INPUT_EMPTY;
	if (len >= 4 && memcmp(text, "NVR\0", 4) == 0)
		return KW_INPUT_NCU_REPORT;
	if (len >= 4 && (memcmp(text, "\x1f\x8b", 2) == 0 || memcmp(text, "PK\3\4", 4) == 0 || memcmp(text, "\x28\xb5\x2f\xfd", 4) == 0))
		return KW_INPUT_COMPRESSED;
	if (len >= 16 && memcmp(text, "SQLite format 3", 16) == 0)
		return KW_INPUT_DATABASE;
	if (len >= 8 && memcmp(text, "PERFILE2", 8) == 0)
		return KW_INPUT_PERF_DATA;
	if (kw_cubin_open(&cubin, text, len))
		return KW_INPUT_CUBIN;
	if (!is_text(s) && (ends(name, ".nsys-rep") || ends(name, ".qdrep")))
		return KW_INPUT_NSYS_REPORT;
	if (len >= 20 && memcmp(text, "\x7f" "ELF", 4) == 0 && (text[16] == 2 || text[16] == 3) && text[18] == 62)
		return KW_INPUT_PROGRAM;
	if (!is_text(s))
		return KW_INPUT_BINARY;
	if ((ends(name, ".cu") || ends(name, ".c") || ends(name, ".cl") || ends(name, ".py") || ends(name, ".hip")) &&
	    (kind = source_kind(name, s)) != KW_INPUT_OTHER)
		return kind;
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (kw_str_holds(s, marks[i].word) && (!marks[i].also || kw_str_holds(s, marks[i].also)))
			return marks[i].kind;
	if (kw_str_starts(s, ".version "))
		return KW_INPUT_PTX;
	if (ends(name, ".yaml") && kw_str_holds(s, "reference:"))
		return KW_INPUT_TASK;
	if (is_part_of_sass(s))
		return KW_INPUT_SASS;
	if (kw_str_holds(s, ",cycles") || kw_str_holds(s, ",instructions") || kw_str_holds(s, ";cycles"))
		return KW_INPUT_PERF_STAT;
	kind = source_kind(name, s);
	if (kind != KW_INPUT_OTHER && !kw_str_holds(s, "error:"))
		return kind;
	if (is_table(s))
		return KW_INPUT_TABLE;
	return is_log(s) ? KW_INPUT_LOG : KW_INPUT_OTHER;
}

void kw_read_ncu(const char *text, size_t len, struct kw_launches *out)
{
	struct kw_str rest = { text, len }, line;
	struct kw_ncu r;

	kw_ncu_init(&r, out, kw_number_style_of(text, len));
	while (rest.ptr && kw_str_split(&rest, '\n', &line))
		kw_ncu_line(&r, line);
	kw_ncu_finish(&r);
}

bool kw_input_read(enum kw_input_kind kind, const char *text, size_t len, struct kw_launches *out)
{
	switch (kind) {
	case KW_INPUT_NCU:
		kw_read_ncu(text, len, out);
		return true;
	case KW_INPUT_NSYS:
		kw_read_nsys(text, len, out);
		return true;
	case KW_INPUT_TABLE:
		kw_read_table(text, len, out);
		return true;
	case KW_INPUT_TRACE:
		kw_read_trace(text, len, out);
		return true;
	case KW_INPUT_TORCH_TABLE:
		kw_read_torch_table(text, len, out);
		return true;
	case KW_INPUT_ROCPROF:
		kw_read_rocprof(text, len, out);
		return true;
	case KW_INPUT_PERF_STAT:
		kw_read_perf_stat(text, len, out);
		return true;
	case KW_INPUT_CUBIN:
		kw_read_cubin(text, len, out);
		return true;
	case KW_INPUT_PTX:
		kw_read_ptx(text, len, out);
		return true;
	case KW_INPUT_SASS:
		kw_read_sass(text, len, out);
		return true;
	case KW_INPUT_LOG:
		kw_read_log(text, len, out);
		return true;
	case KW_INPUT_CUDA:
	case KW_INPUT_HIP:
	case KW_INPUT_OPENCL:
	case KW_INPUT_C:
		kw_read_source(kind, text, len, out);
		return true;
	case KW_INPUT_PYTHON:
		kw_read_python(text, len, out);
		return true;
	default:
		return false;
	}
}

/* Itanium mangling: _Z, then N for nested names, then lengths and names. */
const char *kw_plain_name(const char *name, char *out, size_t out_bytes)
{
	const char *p = name;
	size_t n = 0;

	snprintf(out, out_bytes, "%s", name);
	if (strncmp(p, "_Z", 2) != 0)
		return out;
	p += 2;
	p += *p == 'N';
	while (isdigit((unsigned char)*p)) {
		unsigned long len = strtoul(p, (char **)(uintptr_t)&p, 10);

		if (len == 0 || len > strlen(p))
			break;
		n = (size_t)snprintf(out + (n ? n : 0), out_bytes - n, "%s%.*s", n ? "::" : "", (int)len, p) + n;
		p += len;
		if (n >= out_bytes - 1)
			break;
	}
	return out;
}

int kw_bank_conflict_ways(int stride, int swizzle_bits)
{
	int lanes[32] = { 0 }, ways = 0, mask = (1 << swizzle_bits) - 1;

	for (int lane = 0; lane < 32; lane++) {
		int bank = (int)((((int64_t)lane * stride) ^ (lane & mask)) & 31);

		lanes[bank]++;
		ways = lanes[bank] > ways ? lanes[bank] : ways;
	}
	return ways;
}
