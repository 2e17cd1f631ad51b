/* --sanitize from the command to the verdict, without a GPU: the driver is fake_cuda.c, the tool a script that runs the program
 * it is given, as compute-sanitizer does, and then reports what the name of the case asks for. So all but the finding is real:
 * the object, the job, the process that runs it, the options, the reading of the report, the verdict. */
#include "backend/cuda.h"
#include "base/json.h"
#include "device/sandbox.h"
#include "fake_cuda.h"
#include "temp.h"

static struct kw_error err;
static char out[1 << 16], said[1 << 16];

/* $what: the report. BASE is where the second buffer, y, lies; END its first byte behind. */
static const char tool[] =
	"#!/bin/sh\n"
	"name=none; last=\n"
	"echo tool > /proc/self/comm || exit 3\n"
	"echo out > \"$OUTSIDE\"; echo in > \"$TMPDIR/inside\" || exit 3\n"
	"[ \"$NEEDS_OUTSIDE\" ] && [ ! -e \"$OUTSIDE\" ] && { echo '========= Error: no room'; exit 255; }\n"
	"while [ \"$1\" != \"${1#--}\" ]; do [ \"$1\" = --tool ] && name=$2; shift 2; done\n"
	"text=$(\"$@\") || { echo '========= Error: Target application returned an error'; exit 255; }\n"
	"echo '========= COMPUTE-SANITIZER'; echo \"$text\"\n"
	"base=$(echo \"$text\" | sed -n 's/^buffer 1 \\(0x[0-9a-f]*\\) .*/\\1/p'); bytes=$(echo \"$text\" | sed -n 's/^buffer 1 [^ ]* //p')\n"
	"end=$(printf '0x%x' $((base + bytes)))\n"
	"[ \"$name\" = \"$SAY_TOOL\" ] && { echo \"$SAY\" | sed \"s/BASE/$base/g; s/END/$end/g\"; [ \"$SAY_END\" ] || exit 0; }\n"
	"[ \"$name\" = \"$SAY_TOOL\" ] && { echo \"========= $SAY_END\"; exit 99; }\n"
	"echo '========= ERROR SUMMARY: 0 errors'\n";
static const char task[] = "name: same\ndims: { n: { min: 1, max: 65536 } }\ninputs: { x: { dtype: i8, shape: [n] } }\n"
			   "outputs: { y: { dtype: i8, shape: [n] } }\nreference:\n  expr: |\n    y = x\n"
			   "perf: [ { n: 4096 } ]\ncheck: [ { n: 1000 } ]\n";
static const char kernel[] = "//@ kernel copy grid=(cdiv(n, 256)) block=(256) args=(x, y, n:i64)\n"
			     "extern \"C\" __global__ void copy(const signed char *x, signed char *y, int64_t n)\n"
			     "{\n\tint64_t i = blockIdx.x * 256ll + threadIdx.x;\n\n\tif (i < n)\n\t\ty[i] = x[i];\n}\n";

static int eval(const char *more)
{
	const char *top = getenv("KW_TOP"), *program = getenv("KWRIGHT");
	char built[PATH_MAX];
	const char *argv[] = { program ? program : built, "eval", "same.yaml", "copy.cu", "--json", more, NULL };
	struct kw_proc_opts o = { .timeout_ms = 120000, .max_out_bytes = 1 << 20, .cwd = temp_dir() };
	struct kw_proc_result r;
	int code;

	snprintf(built, sizeof(built), "%s/build/kwright", top ? top : ".");
	if (kw_proc_run(argv, &o, &r, &err) != KW_OK)
		return -1;
	snprintf(out, sizeof(out), "%s", r.out.len ? r.out.ptr : "");
	snprintf(said, sizeof(said), "%s", r.err.len ? r.err.ptr : "");
	code = r.exit_code;
	kw_proc_result_release(&r);
	return code;
}

static const char *field(const char *name)
{
	static char text[4096];
	json_t *j = NULL;

	text[0] = '\0';
	if (kw_json_parse("out", out, strlen(out), &j, NULL) == KW_OK && kw_json_get_str(j, name, NULL))
		snprintf(text, sizeof(text), "%s", kw_json_get_str(j, name, NULL));
	json_decref(j);
	return text;
}

static void say(const char *checker, const char *report, const char *end)
{
	setenv("SAY_TOOL", checker, 1);
	setenv("SAY", report, 1);
	setenv("SAY_END", end, 1);
}

static void test_box(void)
{
	if (!kw_landlock_abi()) {
		skip(3, "no Landlock here");
		return;
	}
	ok(access(temp_file("outside"), F_OK) != 0, "the tool is in a box: it writes where it should only");
	setenv("NEEDS_OUTSIDE", "1", 1);
	is_int(eval("--sanitize"), 0, "one that does not work there is run without");
	has_str(out, "so it was run without one", "and that is told");
	unsetenv("NEEDS_OUTSIDE");
	unlink(temp_file("outside"));
}

static void test_verdicts(void)
{
	say("", "", "");
	if (!is_int(eval("--sanitize"), 0, "nothing is found"))
		diag("%s%s", out, said);
	has_str(out, "nothing found by compute-sanitizer's 4 checkers on 2 small cases", "and it is told that it was looked for");
	test_box();

	say("memcheck",
	    "========= Invalid __global__ write of size 1 bytes\n"
	    "=========     at copy(const signed char *, signed char *, long)+0x90 in candidate.cu:7\n"
	    "=========     by thread (232,0,0) in block (3,0,0)\n"
	    "=========     Access to END is out of bounds\n"
	    "=========     and is 1 bytes after the nearest allocation at BASE of size 1,000 bytes\n=========",
	    "ERROR SUMMARY: 1 error");
	is_int(eval("--sanitize"), 1, "an access beyond a buffer");
	is_str(field("verdict"), "wrong", "class");
	is_str(field("subclass"), "out_of_bounds", "sub-class");
	has_str(field("summary"), "n=1000: memcheck: Invalid __global__ write of size 1 bytes (element 1000 of y, which has 1000): "
				  "kernel copy, copy.cu:7", "the sentence");
	has_str(field("evidence"), "thread: (232, 0, 0) of block (3, 0, 0)", "the evidence");

	say("racecheck",
	    "========= Error: Race reported between Write access at copy(int *)+0x90 in /x/candidate.cu:6\n"
	    "=========     and Read access at copy(int *)+0x100 in /x/candidate.cu:7 [508 hazards]\n=========",
	    "RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)");
	is_int(eval("--sanitize"), 1, "a race");
	is_str(field("subclass"), "race", "sub-class");
	has_str(field("summary"), "a race in shared memory of kernel copy, between copy.cu:6 and copy.cu:7", "both places");
	has_str(field("evidence"), "hazards: 508", "how often");

	say("initcheck",
	    "========= Uninitialized __global__ memory read of size 1 bytes\n"
	    "=========     at copy(int *)+0x70 in candidate.cu:7\n=========     by thread (31,0,0) in block (1,0,0)\n"
	    "=========     Address BASE\n=========",
	    "ERROR SUMMARY: 1 error");
	is_int(eval("--sanitize"), 1, "a read of what nobody wrote");
	is_str(field("subclass"), "uninitialised", "sub-class");
	has_str(field("summary"), "(element 0 of y, which has 1000)", "of which buffer");

	say("synccheck",
	    "========= Barrier error detected. Divergent thread(s) in block.\n"
	    "=========     at copy(int *)+0xe40 in candidate.cu:5\n=========     by thread (32,0,0) in block (0,0,0)\n=========",
	    "ERROR SUMMARY: 1 error");
	is_int(eval("--sanitize"), 1, "a barrier that some never reach");
	is_str(field("subclass"), "barrier", "sub-class");
}

static void test_no_word(void)
{
	say("racecheck",
	    "========= Warning: (Warp Level Programming) Potential RAW hazard detected at __shared__ 0x8c in block (0,0,0) :\n"
	    "=========     Write Thread (35,0,0) at copy(int *)+0x90 in candidate.cu:6\n"
	    "=========     Read Thread (32,0,0) at copy(int *)+0x120 in candidate.cu:7\n=========",
	    "RACECHECK SUMMARY: 1 hazard displayed (0 errors, 1 warning)");
	is_int(eval("--sanitize"), 0, "what the tool only warns of is no verdict");
	has_str(out, "racecheck: a race in shared memory of kernel copy, between copy.cu:6 and copy.cu:7", "but a note");
	say("memcheck", "========= Internal Sanitizer Error: the device is not supported", "");
	is_int(eval("--sanitize"), 0, "a checker that does not work here is no verdict");
	has_str(out, "not checked by compute-sanitizer memcheck: Internal Sanitizer Error: the device is not supported", "but a note");
	has_str(out, "nothing found by compute-sanitizer's 3 checkers", "and the others did");
	is_int(eval("--effort=final"), 0, "the final judgement has it by itself");
	has_str(out, "compute-sanitizer's 3 checkers", "told likewise");
	setenv("KWRIGHT_SANITIZER", "/nonexistent", 1);
	is_int(eval("--sanitize"), 3, "no such program");
	has_str(said, "there is no program (named by KWRIGHT_SANITIZER)", "is said before anything is judged");
	is_int(eval("--effort=final"), 0, "the final judgement does without");
	has_str(out, "not run under compute-sanitizer, which is not here", "and says so");
}

int main(void)
{
	struct kw_cuda_toolkit kit;
	const char *path = temp_file("compute-sanitizer");

	if (kw_cuda_find(NULL, &kit, &err) != KW_OK || !kit.nvrtc[0]) {
		skip(1, "no NVRTC here");
		return done();
	}
	if (!ok(fake_cuda_build(temp_file("driver"), "-DFAKE"), "a driver"))
		return done();
	setenv("LD_LIBRARY_PATH", temp_file("driver"), 1);
	kw_file_write(path, tool, strlen(tool), &err);
	chmod(path, 0755);
	kw_file_write(temp_file("same.yaml"), task, strlen(task), &err);
	kw_file_write(temp_file("copy.cu"), kernel, strlen(kernel), &err);
	setenv("KWRIGHT_SANITIZER", path, 1);
	setenv("OUTSIDE", temp_file("outside"), 1);
	setenv("XDG_DATA_HOME", temp_file("data"), 1);
	test_verdicts();
	test_no_word();
	return done();
}
