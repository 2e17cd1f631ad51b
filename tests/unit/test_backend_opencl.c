/* The OpenCL backend: what runtimes print, whether kernels fit plan and device, and builds where there is a runtime. */
#include "backend/opencl.h"

#include "backend/cache.h"
#include "backend/job.h"
#include "base/file.h"
#include "device/device.h"

#include "tap.h"
#include "temp.h"

static struct kw_error err;

/* ---- build logs ---- */

static void log_is(const char *log, bool failed, enum kw_severity severity, enum kw_subclass cls, int line, int column,
		   const char *part)
{
	static const char source[] = "\n__kernel void k(void) { far(); }\n";
	struct kw_diagnostics d;
	const struct kw_diagnostic *one;

	kw_diagnostics_init(&d, KW_CL_FILE, "mine.cl");
	kw_cl_log_parse(&d, log, strlen(log), source, failed);
	one = d.count ? &d.list[0] : NULL;
	if (ok(one != NULL, "a message in %.50s", log)) {
		is_int(one->severity, severity, "its severity");
		is_str(kw_subclass_name(one->cls), kw_subclass_name(cls), "its class");
		is_int(one->line, line, "its line");
		is_int(one->column, column, "its column");
		ok(strstr(one->message, part) != NULL, "\"%s\" has \"%s\"", one->message, part);
		is_str(one->file, "mine.cl", "the candidate's own name");
	}
	kw_diagnostics_release(&d);
}

static void test_logs(void)
{
	struct kw_diagnostics d;

	log_is("error: candidate.cl:4:14: use of undeclared identifier 'q'\nDevice x failed to build the program\n", true,
	       KW_ERROR, KW_S_UNDEFINED, 4, 14, "identifier 'q'");
	log_is("warning: candidate.cl:1:2: something\n", false, KW_WARNING, KW_S_TYPE, 1, 2, "something");
	log_is("<kernel>:3:5: error: expected ';' after expression\n", true, KW_ERROR, KW_S_SYNTAX, 3, 5, "expected ';'");
	log_is("candidate.cl:7:1: error: unknown type name 'flot'\n", true, KW_ERROR, KW_S_UNDEFINED, 7, 1, "flot");
	log_is("Error(s) while linking: \nCannot find symbol far in kernel library\n", true, KW_ERROR, KW_S_UNDEFINED, 2, 25,
	       "'far'");
	log_is("ptxas fatal: something odd", true, KW_ERROR, KW_S_TYPE, 0, 0, "something odd");
	log_is("ptxas fatal   : Unresolved extern function 'open'\n", true, KW_ERROR,
	       KW_S_UNDEFINED, 0, 0, "extern function 'open'");
	log_is("ptxas error   : Entry function 'k' uses too much shared data (0x10000 bytes, 0xc000 max)\n", true, KW_ERROR,
	       KW_S_BUILD_RESOURCES, 0, 0, "too much shared data");
	log_is("", true, KW_ERROR, KW_S_TYPE, 0, 0, "no reason");
	kw_diagnostics_init(&d, KW_CL_FILE, "mine.cl");
	kw_cl_log_parse(&d, "\n  \nfine\n", 9, NULL, false);
	is_int((int64_t)d.count, 0, "a good build's chatter is no message");
	kw_diagnostics_release(&d);
}

/* ---- checks, from a description as the child gives it ---- */

static struct kw_plan_arg plan_args[] = { { .kind = KW_ARG_TENSOR, .name = "x", .dtype = KW_F32 },
					  { .kind = KW_ARG_TENSOR, .name = "y", .dtype = KW_F16 },
					  { .kind = KW_ARG_SCALAR, .dtype = KW_I64 } };
static struct kw_bound_arg bound_args[] = { { .kind = KW_ARG_TENSOR, .dtype = KW_F32 },
					    { .kind = KW_ARG_TENSOR, .dtype = KW_F16 },
					    { .kind = KW_ARG_SCALAR, .dtype = KW_I64 } };
static const struct kw_intexpr *some_smem;

struct argument {
	const char *space, *type, *name;
};

static json_t *describe(const struct argument *args, size_t n, int group_size, int local)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, json_pack("{s:s,s:s,s:s}", "space", args[i].space, "type", args[i].type, "name",
						      args[i].name));
	return json_pack("[{s:s,s:i,s:o,s:i,s:i,s:[i,i,i]}]", "name", "k", "arg_count", (int)n, "args", list, "group_size",
			 group_size, "local", local, "fixed", 0, 0, 0);
}

static void arguments(const char *what, const struct argument *args, size_t n, bool smem, const char *message)
{
	struct kw_plan_kernel k = { .name = "k", .grid_rank = 1, .block_rank = 1, .args = plan_args, .arg_count = 3, .line = 5,
				    .smem = smem ? some_smem : NULL };
	struct kw_plan plan = { .kernels = &k, .kernel_count = 1 };
	struct kw_bound_kernel b = { .name = "k", .block = { 64, 1, 1 }, .grid = { 1, 1, 1 }, .args = bound_args, .arg_count = 3,
				     .smem_bytes = smem ? 64 : 0 };
	struct kw_bound_plan bound = { .kernels = &b, .kernel_count = 1 };
	json_t *kernels = describe(args, n, 4096, 0);
	struct kw_cl_fault f = { .message = "" };
	bool good = kw_cl_check_kernels(&plan, &bound, kernels, &f);

	ok(good == (message == NULL), "%s: %s", what, good ? "fits" : f.message);
	if (message && !good) {
		ok(strstr(f.message, message) != NULL, "it says \"%s\"", message);
		is_str(kw_subclass_name(f.subclass), "type", "class");
		is_int(f.line, 5, "the plan's line");
	}
	json_decref(kernels);
}

#define A(...) (const struct argument[]){ __VA_ARGS__ }
static void test_arguments(void)
{
	static const struct argument x = { "global", "float*", "x" }, y = { "global", "kw_f16*", "y" },
				     n = { "private", "long", "n" }, room = { "local", "float*", "room" };

	arguments("all there", A(x, y, n), 3, false, NULL);
	arguments("a vector pointer", A({ "global", "float4*", "x" }, y, n), 3, false, NULL);
	arguments("bits", A({ "global", "uint*", "x" }, { "global", "ushort*", "y" }, n), 3, false, NULL);
	arguments("constant memory", A({ "constant", "float*", "x" }, y, n), 3, false, NULL);
	arguments("local memory last", A(x, y, n, room), 4, true, NULL);
	arguments("a typedef of its own", A(x, y, { "private", "index_t", "n" }), 3, false, NULL);
	arguments("one too few", A(x, y), 2, false, "takes 2 arguments and the plan passes 3");
	arguments("one too many", A(x, y, n, { "private", "int", "rest" }), 4, false, "nothing for 'rest'");
	arguments("local memory without smem=", A(x, y, n, room), 4, false, "nothing for 'room'");
	arguments("smem= and no parameter", A(x, y, n), 3, true, "smem= is the last");
	arguments("smem= to a number", A(x, y, n, { "private", "int", "m" }), 4, true, "__local pointer");
	arguments("a number for a buffer", A({ "private", "int", "x" }, y, n), 3, false, "parameter 1 'x'");
	arguments("a buffer for a number", A(x, y, { "global", "long*", "n" }), 3, false, "parameter 3 'n'");
	arguments("an int for an i64", A(x, y, { "private", "int", "n" }), 3, false, "the plan passes i64, which is 8 bytes");
	arguments("a double for an i64", A(x, y, { "private", "double", "n" }), 3, false, "the plan passes i64");
	arguments("doubles for f32", A({ "global", "double*", "x" }, y, n), 3, false, "whose elements are f32 of 4 bytes");
	arguments("floats for f16", A(x, { "global", "float*", "y" }, n), 3, false, "whose elements are f16 of 2 bytes");
	arguments("local memory for a buffer", A({ "local", "float*", "x" }, y, n), 3, false, "__global pointer");
}

static void limits(const char *what, int64_t bx, int64_t by, int64_t smem, enum kw_subclass cls, const char *a, const char *b)
{
	struct kw_plan_kernel k = { .name = "k", .grid_rank = 1, .block_rank = 1, .line = 2 };
	struct kw_plan plan = { .kernels = &k, .kernel_count = 1 };
	struct kw_bound_kernel bk = { .name = "k", .block = { bx, by, 1 }, .grid = { 1, 1, 1 }, .smem_bytes = smem };
	struct kw_bound_plan bound = { .kernels = &bk, .kernel_count = 1 };
	struct kw_cl_info device = { .name = "A Device", .group_size = 1024, .group = { 1024, 1024, 64 }, .local_bytes = 32768 };
	json_t *kernels = describe(NULL, 0, 512, 1000);
	struct kw_cl_fault f = { .message = "" };
	bool good = kw_cl_check_limits(&plan, &bound, kernels, &device, &f);

	ok(good == (cls == KW_S_NONE), "%s: %s", what, good ? "can be launched" : f.message);
	if (cls != KW_S_NONE && !good) {
		is_int(f.cls, KW_V_LAUNCH_ERROR, "a launch error");
		is_int(f.subclass, cls, "its sub-class");
		ok(strstr(f.message, a) && strstr(f.message, b), "it has the value %s and the limit %s", a, b);
	}
	json_decref(kernels);
}

static void test_limits(void)
{
	limits("64 work-items", 64, 1, 0, KW_S_NONE, "", "");
	limits("the most", 32, 16, 32768 - 1000, KW_S_NONE, "", "");
	limits("too many for the kernel", 513, 1, 0, KW_S_LAUNCH_RESOURCES, "513", "512");
	limits("too many for the device", 64, 64, 0, KW_S_LAUNCH_RESOURCES, "4096", "1024");
	limits("too many along x", 2048, 1, 0, KW_S_LAUNCH_RESOURCES, "2048", "1024");
	limits("more than a number holds", INT64_MAX / 2, 8, 0, KW_S_LAUNCH_RESOURCES, "4611686018427387903", "1024");
	limits("local memory", 64, 1, 32768, KW_S_LAUNCH_RESOURCES, "33768", "32768");
}

static void test_plans(void)
{
	struct kw_plan_kernel k = { .name = "k", .grid_rank = 1, .block_rank = 1, .line = 3 };
	struct kw_plan plan = { .kernels = &k, .kernel_count = 1 };
	struct kw_cl_fault f;

	ok(kw_cl_check_plan(&plan, &f), "grid and block");
	k.block_rank = 0;
	ok(!kw_cl_check_plan(&plan, &f) && strstr(f.message, "no block=") && f.line == 3, "no block: %s", f.message);
	k.block_rank = 1;
	k.cluster_rank = 1;
	ok(!kw_cl_check_plan(&plan, &f) && strstr(f.message, "cluster="), "a cluster: %s", f.message);
	k.cluster_rank = 0;
	k.pdl = true;
	ok(!kw_cl_check_plan(&plan, &f) && strstr(f.message, "pdl"), "pdl: %s", f.message);
	is_int(f.subclass, KW_S_BUILD_PLAN, "a fault of the plan");
}

/* ---- builds ---- */

static struct kw_bound_kernel kernel = { .name = "k", .grid = { 1, 1, 1 }, .block = { 8, 1, 1 } };
static struct kw_bound_plan bound = { .applicable = true, .kernels = &kernel, .kernel_count = 1 };
static struct kw_plan_kernel plan_kernel = { .name = "k", .grid_rank = 1, .block_rank = 1, .line = 1 };

static enum kw_status build(const char *source, const char *flag, const struct kw_build_opts *o, struct kw_build_result *r)
{
	struct kw_candidate c = { .name = "mine.cl", .backend = "opencl", .source = source, .source_len = strlen(source) };

	c.plan.kernels = &plan_kernel;
	c.plan.kernel_count = 1;
	c.plan.flags = &flag;
	c.plan.flag_count = flag != NULL;
	return kw_build(kw_backend_find("opencl"), &c, &bound, o, r, &err);
}

static void test_builds(void)
{
	static const char source[] = "__kernel void k(void)\n{\n\tint unused = FACTOR;\n}\n";
	struct kw_intenv_var two = { "FACTOR", 2 };
	struct kw_build_result r, again, other;
	const json_t *fact;

	bound.defines = &two;
	bound.define_count = 1;
	is_int(build(source, NULL, NULL, &r), KW_OK, "builds");
	is_int(r.cls, KW_V_OK, "the program is good");
	is_str(r.artefact.kind, "opencl-binary", "its kind");
	ok(r.artefact.code_bytes > 0, "it has %zu bytes", r.artefact.code_bytes);
	fact = json_object_get(json_object_get(r.artefact.facts, "kernels"), "k");
	is_int(kw_json_get_i64(fact, "param_count", -1), 0, "facts of the kernel");
	is_int(build(source, NULL, NULL, &again), KW_OK, "builds again");
	is_int(again.artefact.cached, true, "from the cache");
	is_str(again.artefact.kind, "opencl-binary", "of the same kind");
	two.value = 3;
	is_int(build(source, NULL, NULL, &other), KW_OK, "builds with another define");
	is_int(other.artefact.cached, false, "which is another program");
	kw_build_result_release(&other);
	kernel.block[0] = 16;
	is_int(build(source, NULL, NULL, &other), KW_OK, "builds for another block");
	is_int(other.artefact.cached, false, "which is another program");
	kernel.block[0] = 8;
	kw_build_result_release(&other);
	kw_build_result_release(&again);
	kw_build_result_release(&r);
	bound.define_count = 0;
}

static void test_messages(void)
{
	static const struct {
		const char *name, *source, *flag, *message;
		enum kw_verdict_class cls;
		enum kw_subclass subclass;
		int line;
	} cases[] = {
		{ "syntax", "__kernel void k(void)\n{\n\tint a = 1\n}\n", NULL, "expected ';'", KW_V_BUILD_ERROR, KW_S_SYNTAX, 3 },
		{ "undeclared", "__kernel void k(void)\n{\n\tint a = b;\n}\n", NULL, "'b'", KW_V_BUILD_ERROR, KW_S_UNDEFINED, 3 },
		{ "type", "__kernel void k(void)\n{\n\tfloat4 a; a.q = 1;\n}\n", NULL, "", KW_V_BUILD_ERROR, KW_S_TYPE, 3 },
		{ "no such symbol", "int far(void);\n__kernel void k(void)\n{\n\tvolatile int a = far();\n}\n", NULL, "far",
		  KW_V_BUILD_ERROR, KW_S_UNDEFINED, 1 },
		{ "include a file", "\n#include \"/etc/passwd\"\n__kernel void k(void) {}\n", NULL, "/etc/passwd",
		  KW_V_BUILD_ERROR, KW_S_INCLUDE, 2 },
		{ "include by a macro", "#define F </etc/passwd>\n#include F\n__kernel void k(void) {}\n", NULL, "", KW_V_BUILD_ERROR,
		  KW_S_INCLUDE, 2 },
		{ "no kernel", "void k(void) {}\n", NULL, "there is none", KW_V_LAUNCH_ERROR, KW_S_ENTRY, 1 },
		{ "another kernel", "__kernel void other(void) {}\n__kernel void more(void) {}\n", NULL, "more", KW_V_LAUNCH_ERROR,
		  KW_S_ENTRY, 1 },
		{ "an argument", "__kernel void k(__global float *x) {}\n", NULL, "nothing for 'x'", KW_V_BUILD_ERROR, KW_S_TYPE, 1 },
		{ "a required size", "__kernel __attribute__((reqd_work_group_size(4, 1, 1))) void k(void) {}\n", NULL, "(4, 1, 1)",
		  KW_V_LAUNCH_ERROR, KW_S_CONFIGURATION, 1 },
		{ "a flag", "//@ flags -cl-fast-relaxed-mth\n__kernel void k(void) {}\n", "-cl-fast-relaxed-mth",
		  "-cl-fast-relaxed-math", KW_V_BUILD_ERROR, KW_S_BUILD_PLAN, 1 },
		{ "a file by a flag", "//@ flags -I/etc\n__kernel void k(void) {}\n", "-I/etc", "not on the list", KW_V_BUILD_ERROR,
		  KW_S_BUILD_PLAN, 1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct kw_diagnostic *first = NULL;
		struct kw_build_result r;

		if (!is_int(build(cases[i].source, cases[i].flag, NULL, &r), KW_OK, "%s: a result", cases[i].name))
			continue;
		for (size_t d = 0; d < r.artefact.diagnostic_count && !first; d++)
			if (r.artefact.diagnostics[d].severity == KW_ERROR)
				first = &r.artefact.diagnostics[d];
		is_int(r.cls, cases[i].cls, "%s: class", cases[i].name);
		is_str(kw_subclass_name(r.subclass), kw_subclass_name(cases[i].subclass), "%s: sub-class", cases[i].name);
		ok(first && strstr(first->message, cases[i].message), "%s: %s", cases[i].name, first ? first->message : "nothing");
		is_int(first ? first->line : -1, cases[i].line, "%s: line", cases[i].name);
		is_str(first ? first->file : "", "mine.cl", "%s: file", cases[i].name);
		is_int((int64_t)r.artefact.code_bytes, 0, "%s: no program", cases[i].name);
		kw_build_result_release(&r);
	}
}

static void test_timeout(void)
{
	struct kw_build_opts o = { .timeout_ms = 1, .no_cache = true };
	struct kw_build_result r;

	is_int(build("__kernel void k(void) {}\n", NULL, &o, &r), KW_OK, "a compiler that takes too long: a result");
	is_int(r.cls, KW_V_BUILD_ERROR, "a build error");
	is_str(kw_subclass_name(r.subclass), "timeout", "timeout");
	kw_build_result_release(&r);
}

/* ---- patterns, as they stand ---- */

static void test_patterns(const struct kw_cl_info *d)
{
	struct kw_arena a;
	char **paths, *header, *source;
	size_t n = 0, len;

	kw_arena_init(&a, 16 << 20);
	is_int(kw_data_list("knowledge/patterns/opencl/", ".cl", &a, &paths, &n, &err), KW_OK, "patterns");
	ok(n >= 5, "%zu of them", n);
	is_int(kw_build_header("src/backend/builtin/kw_opencl.h", &a, &header, &len, &err), KW_OK, "kw.h");
	for (size_t i = 0; i < n; i++) {
		struct kw_cl_answer answer = { .head = NULL };
		json_t *q;

		if (!is_int(kw_data_read(paths[i], &a, &source, &len, &err), KW_OK, "%s", paths[i]))
			continue;
		q = json_pack("{s:i,s:i,s:s,s:s,s:s}", "platform", (int)d->platform, "device", (int)d->device, "options", "",
			      "header", header, "source", source);
		is_int(kw_cl_ask(q, temp_dir(), 60000, NULL, NULL, &answer, &err), KW_OK, "asks");
		is_int(kw_json_get_i64(answer.head, "status", -1), 0, "%s compiles", paths[i]);
		if (answer.len && kw_json_get_i64(answer.head, "log", 0) > 1)
			diag("%.*s", (int)kw_json_get_i64(answer.head, "log", 0), answer.bytes);
		kw_cl_answer_release(&answer);
		json_decref(q);
	}
	kw_arena_release(&a);
}

/* ---- what is measured by the device's own events ---- */

static void test_measures(const struct kw_cl_info *d)
{
	struct kw_hardware h = { .name = "a device of a test", .driver = "1" };
	struct kw_ceiling c, again;
	struct kw_overheads o;

	setenv("XDG_DATA_HOME", temp_dir(), 1);
	is_int(kw_cl_ceiling(d, &h, KW_CEILING_COPY, 1 << 16, KW_MEASURE_NEVER, &c, &err), KW_NO, "nothing was measured");
	is_int(kw_cl_ceiling(d, &h, KW_CEILING_COPY, 1 << 16, KW_MEASURE_AGAIN, &c, &err), KW_OK, "copy: %s", err.text);
	ok(c.per_s > 1e6 && c.bytes == 1 << 16, "%.3g B/s", c.per_s);
	is_int(kw_cl_ceiling(d, &h, KW_CEILING_COPY, 1 << 16, KW_MEASURE_NEVER, &again, &err), KW_OK, "and kept");
	ok(again.per_s > 0.999 * c.per_s && again.per_s < 1.001 * c.per_s, "as it was: %.3g", again.per_s);
	is_int(kw_cl_ceiling(d, &h, KW_CEILING_FLOPS_F64, 0, KW_MEASURE_AGAIN, &c, &err), KW_NO, "f64 is measured by nobody");
	is_int(kw_cl_overheads(d, &o, &err), KW_OK, "overheads: %s", err.text);
	ok(o.event_ns > 0 && o.launch_ns > 0, "an empty kernel %.0f ns, a launch %.0f ns", o.event_ns, o.launch_ns);
}

/* A device with memory of its own tells how long a batch took by its own clock; one that shares ours does not, as a kernel could
 * reach it there. */
static void test_event_times(bool copies)
{
	enum { N = 1 << 20, TIMEOUT_MS = 60000 };
	static const char source[] = "__kernel void k(__global const float *x, __global float *y)\n{\n\tlong i = get_global_id(0);\n"
				     "\ty[i] = 2.0f * x[i];\n}\n";
	struct kw_buffer_spec buffers[] = { { .name = "x", .bytes = 4 * N, .align_bytes = 64, .read_only = true },
					    { .name = "y", .bytes = 4 * N, .align_bytes = 64 } };
	struct kw_session_opts so = { .buffers = buffers, .buffer_count = 2, .tensor_count = 2, .slots = 2 };
	struct kw_player_opts po = { .threads = 1 };
	struct kw_bound_arg args[] = { { .kind = KW_ARG_TENSOR, .index = 0 }, { .kind = KW_ARG_TENSOR, .index = 1, .writable = true } };
	struct kw_play_result r = { .buffer = -1 };
	struct kw_build_result b = { 0 };
	struct kw_device *d;
	struct kw_session *s = NULL;
	struct kw_player *p = NULL;
	int order[] = { 0, 1 };

	if (copies)
		setenv("KWRIGHT_OPENCL_COPY", "1", 1);
	kernel.grid[0] = N / 8;
	kernel.args = args;
	kernel.arg_count = 2;
	is_int(build(source, NULL, NULL, &b), KW_OK, "a kernel to time: %s", err.text);
	if (is_int(kw_device_open("opencl", &d, &err), KW_OK, "the device: %s", err.text) &&
	    is_int(d->ops->session_new(d, &so, &s, &err), KW_OK, "a session") &&
	    is_int(d->ops->player_start(s, &po, &p, &err), KW_OK, "a player: %s", err.text)) {
		is_int(d->players_are_dear, copies, "players of a device with memory of its own are not started in vain");
		is_int(d->ops->load(p, &b.artefact, &bound, TIMEOUT_MS, &r, &err), KW_OK, "loads: %s", err.text);
		is_int(d->ops->run(p, order, 2, TIMEOUT_MS, &r, &err), KW_OK, "runs: %s", err.text);
		is_int(r.end, KW_PLAY_DONE, "well: %s", r.detail);
		ok(copies ? r.device_ns > 0 && r.device_ns <= r.wall_ns : r.device_ns == 0, "%lld ns by the device, %lld by the judge",
		   (long long)r.device_ns, (long long)r.wall_ns);
		d->ops->player_stop(p);
		d->ops->session_free(s);
		kw_device_close(d);
	}
	kernel.grid[0] = 1;
	kernel.arg_count = 0;
	kw_build_result_release(&b);
	unsetenv("KWRIGHT_OPENCL_COPY");
}

/* ---- machines without, in processes that have not asked yet ---- */

static void asked_with(const char *name, const char *value, enum kw_status status, const char *part)
{
	pid_t pid;
	int end = 0;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		struct kw_cl_info d;
		enum kw_status s;

		setenv(name, value, 1);
		s = kw_cl_find(&d, &err);
		if (s != status || !strstr(err.text, part))
			printf("# status %d: %s\n", (int)s, err.text);
		fflush(stdout);
		_exit(s == status && strstr(err.text, part) ? 0 : 1);
	}
	waitpid(pid, &end, 0);
	ok(end == 0, "%s=%s: %s", name, value, part);
}

/* In a process of its own too, for the same reason. */
static bool opencl_here(void)
{
	int end = 0;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		struct kw_cl_info d;

		_exit(kw_cl_find(&d, &err) == KW_OK ? 0 : 1);
	}
	waitpid(pid, &end, 0);
	return end == 0;
}

int main(void)
{
	struct kw_cl_info d;

	some_smem = (const struct kw_intexpr *)(const void *)plan_args; /* only whether there is one is looked at */
	setenv("XDG_CACHE_HOME", temp_dir(), 1);
	test_logs();
	test_arguments();
	test_limits();
	test_plans();
	asked_with("OCL_ICD_VENDORS", temp_dir(), KW_ERR_ENV, "install a runtime");
	asked_with("KWRIGHT_OPENCL", "no such device", opencl_here() ? KW_ERR_USAGE : KW_ERR_ENV,
		   opencl_here() ? "no OpenCL device 'no such device'" : "install a runtime");
	if (kw_cl_find(&d, &err) != KW_OK) {
		skip(1, "no OpenCL here");
		return done();
	}
	diag("%s, %s", d.platform_name, d.name);
	test_builds();
	test_messages();
	test_timeout();
	test_patterns(&d);
	test_measures(&d);
	test_event_times(false);
	test_event_times(true);
	return done();
}
