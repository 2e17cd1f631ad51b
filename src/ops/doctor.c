/* What this machine is and what works on it, as found by trying. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/file.h"
#include "base/clock.h"
#include "device/sandbox.h"
#include "judge/matrix.h"
#include "model/curl_api.h"
#include "ops/internal.h"
#include "python/python.h"

enum { FACTS_MAX = 256, CEILING_BYTES = 256 << 20, DEVICES_MAX = 8 };

struct exam {
	struct kw_op_doctor *d;
	const struct kw_op_env *env;
	struct kw_device *devices[DEVICES_MAX]; /* those that work, but for the cpu */
	size_t device_count;
	bool failed;                      /* out of memory */
};

__attribute__((format(printf, 5, 6))) static void fact(struct exam *x, const char *part, const char *name,
						       enum kw_op_health health, const char *fmt, ...)
{
	struct kw_op_doctor *d = x->d;
	char text[1800];
	const char *kept, *called;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	kept = kw_arena_strdup(&d->arena, text);
	called = kw_arena_strdup(&d->arena, name);
	if (!kept || !called || d->count == FACTS_MAX) {
		x->failed = true;
		return;
	}
	d->facts[d->count++] = (struct kw_op_fact){ part, called, kept, health };
	if (health == KW_HEALTH_BAD)
		d->healthy = false;
}

static void bytes_fact(struct exam *x, const char *part, const char *name, int64_t bytes)
{
	char text[40];

	if (bytes > 0)
		fact(x, part, name, KW_HEALTH_INFO, "%s", kw_human_bytes((double)bytes, text, sizeof(text)));
	else
		fact(x, part, name, KW_HEALTH_INFO, "unknown");
}

static void machine(struct exam *x, const struct kw_hardware *h)
{
	struct utsname u;

	fact(x, "machine", "processor", KW_HEALTH_INFO, "%s (%s)", h->name, h->arch);
	fact(x, "machine", "cores", KW_HEALTH_INFO, "%d that we may use", h->units);
	bytes_fact(x, "machine", "memory", h->memory_bytes);
	bytes_fact(x, "machine", "l1d", h->l1d_bytes);
	bytes_fact(x, "machine", "l2", h->l2_bytes);
	bytes_fact(x, "machine", "last level", h->last_level_cache_bytes);
	fact(x, "machine", "vector", KW_HEALTH_INFO, "%d bytes", h->simd_bytes);
	if (uname(&u) == 0)
		fact(x, "machine", "kernel", KW_HEALTH_INFO, "%s %s", u.sysname, u.release);
}

static void backends(struct exam *x)
{
	size_t n;
	const struct kw_backend *const *all = kw_backend_all(&n);

	for (size_t i = 0; i < n; i++) {
		struct kw_error err;
		char text[512] = "", said[2100];

		kw_error_reset(&err);
		if (all[i]->probe(text, sizeof(text), &err) == KW_OK)
			fact(x, "backend", all[i]->name, KW_HEALTH_GOOD, "%s", text);
		else /* the main job is done with C; the others are a gain */
			fact(x, "backend", all[i]->name,
			     strcmp(all[i]->name, "c") == 0 ? KW_HEALTH_BAD : KW_HEALTH_MISSING, "%s",
			     kw_error_line(&err, said, sizeof(said)));
	}
}

/* ---- what a GPU can do at most ---- */

static const int64_t sizes[] = { (int64_t)64 << 10, (int64_t)1 << 20, (int64_t)16 << 20, (int64_t)64 << 20, (int64_t)256 << 20,
				 (int64_t)1 << 30,  (int64_t)4 << 30 };

static void tell(void (*progress)(const char *what), const char *device, const char *what)
{
	char text[80];

	snprintf(text, sizeof(text), "%s %s", device, what);
	if (progress)
		progress(text);
}

/* "64 KiB 130 GB/s, 1 MiB 1.2 TB/s, ..." */
static void bandwidths(struct exam *x, struct kw_device *d, enum kw_ceiling_kind kind, const char *what, enum kw_measure measure)
{
	char name[40], text[600] = "", size[40], rate[40], said[2100];
	const char *method = "";
	struct kw_error err;
	size_t n = 0;

	snprintf(name, sizeof(name), "%s %s", d->ops->name, what);
	kw_error_reset(&err);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct kw_ceiling c;
		enum kw_status s = d->ops->ceiling(d, kind, sizes[i], measure, &c, &err);

		if (s != KW_OK && s != KW_NO) {
			fact(x, "ceiling", name, KW_HEALTH_MISSING, "%s", kw_error_line(&err, said, sizeof(said)));
			return;
		}
		if (s == KW_NO)
			continue;
		method = c.method;
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s %s", n ? ", " : "",
				      kw_human_bytes((double)c.bytes, size, sizeof(size)), kw_human_rate(c.per_s, "B/s", rate, sizeof(rate)));
	}
	if (n)
		fact(x, "ceiling", name, KW_HEALTH_GOOD, "%s (%s)", text, method);
	else
		fact(x, "ceiling", name, KW_HEALTH_MISSING, measure ? "cannot be measured here" : "not measured yet (--measure)");
}

static void arithmetic(struct exam *x, struct kw_device *d, const char *what, enum kw_status s, const struct kw_ceiling *c,
		       double sheet, const struct kw_error *err)
{
	char name[40], rate[40], said[2100];

	snprintf(name, sizeof(name), "%s %s", d->ops->name, what);
	if (s == KW_OK)
		fact(x, "ceiling", name, KW_HEALTH_GOOD, "%s (%s)", kw_human_rate(c->per_s, "FLOP/s", rate, sizeof(rate)), c->method);
	else if (s == KW_NO && sheet > 0)
		fact(x, "ceiling", name, KW_HEALTH_INFO, "%s by the data sheet, not measured",
		     kw_human_rate(sheet, "FLOP/s", rate, sizeof(rate)));
	else if (s != KW_NO)
		fact(x, "ceiling", name, KW_HEALTH_MISSING, "%s", kw_error_line(err, said, sizeof(said)));
}

static void overheads(struct exam *x, struct kw_device *d)
{
	struct kw_overheads o;
	struct kw_error err;
	char name[40], said[2100];

	kw_error_reset(&err);
	snprintf(name, sizeof(name), "%s overheads", d->ops->name);
	if (!d->ops->overheads)
		return;
	if (d->ops->overheads(d, &o, &err) == KW_OK)
		fact(x, "ceiling", name, KW_HEALTH_GOOD, "an empty kernel between two events %.2f us, a launch in a row %.2f us",
		     o.event_ns / 1e3, o.launch_ns / 1e3);
	else
		fact(x, "ceiling", name, KW_HEALTH_MISSING, "%s", kw_error_line(&err, said, sizeof(said)));
}

static void device_ceilings(struct exam *x, struct kw_device *d, bool measure, void (*progress)(const char *what))
{
	static const struct {
		enum kw_ceiling_kind kind;
		const char *name;
	} kinds[] = { { KW_CEILING_READ, "read" }, { KW_CEILING_WRITE, "write" }, { KW_CEILING_COPY, "copy" },
		      { KW_CEILING_FLOPS_F32, "f32" }, { KW_CEILING_FLOPS_F64, "f64" } };
	enum kw_measure m = measure ? KW_MEASURE_AGAIN : KW_MEASURE_NEVER;
	struct kw_ceiling c;
	struct kw_error err;
	enum kw_rate rate;

	if (d->untimed)
		return;
	for (size_t i = 0; !d->ceilings_of_host && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (measure)
			tell(progress, d->ops->name, kinds[i].name);
		kw_error_reset(&err);
		if (i < 3)
			bandwidths(x, d, kinds[i].kind, kinds[i].name, m);
		else
			arithmetic(x, d, kinds[i].name, d->ops->ceiling(d, kinds[i].kind, 0, m, &c, &err), &c,
				   i == 3 ? d->hardware.flops_f32 : d->hardware.flops_f64, &err);
	}
	for (size_t i = 0; d->ops->compute && (rate = kw_matrix_rate_at(i)) != KW_RATE_COUNT; i++) {
		if (measure)
			tell(progress, d->ops->name, kw_rate_name(rate));
		kw_error_reset(&err);
		arithmetic(x, d, kw_rate_name(rate), kw_matrix_ceiling(d, rate, m, &c, &err), &c, d->hardware.rates[rate], &err);
	}
	if (measure)
		overheads(x, d);
}

/* ---- devices ---- */

static void state(struct exam *x, struct kw_device *d)
{
	struct kw_device_state s;

	if (!kw_device_state(d, &s))
		return;
	fact(x, "device", d->ops->name, KW_HEALTH_INFO, "driver %s, now at %d MHz, memory at %d MHz%s", s.driver, s.clock_mhz,
	     s.memory_clock_mhz, s.slowed ? "; power or heat keeps it from its clock" : "");
	if (s.programs > 1)
		fact(x, "device", d->ops->name, KW_HEALTH_MISSING, "shared: %d other program%s on it; times vary with what they do",
		     s.programs - 1, s.programs == 2 ? " computes" : "s compute");
}

/* GPUs are opened, so that what is said of them is true; a machine without one is well too. */
static void devices(struct exam *x)
{
	const struct kw_device_ops *ops;

	for (size_t i = 0; (ops = kw_device_at(i)); i++) {
		struct kw_device *d = NULL;
		struct kw_error err;
		char said[2100], bytes[40];

		kw_error_reset(&err);
		if (strcmp(ops->name, "cpu") == 0)
			continue;
		if (kw_device_open(ops->name, &d, &err) != KW_OK) {
			fact(x, "device", ops->name, KW_HEALTH_MISSING, "%s", kw_error_line(&err, said, sizeof(said)));
			continue;
		}
		fact(x, "device", ops->name, KW_HEALTH_GOOD, "%s%s%s%s, %d units, %s%s%s", d->hardware.name,
		     d->hardware.arch[0] ? " (" : "", d->hardware.arch, d->hardware.arch[0] ? ")" : "", d->hardware.units,
		     kw_human_bytes((double)d->hardware.memory_bytes, bytes, sizeof(bytes)), d->hardware.driver[0] ? ", " : "",
		     d->hardware.driver);
		if (d->note[0])
			fact(x, "device", ops->name, KW_HEALTH_MISSING, "%s", d->note);
		state(x, d);
		if (x->device_count < DEVICES_MAX)
			x->devices[x->device_count++] = d;
		else
			kw_device_close(d);
	}
}

/* The layers of a player that was really started, on one page of memory. */
static void player(struct exam *x, struct kw_device *d, const char *name)
{
	struct kw_buffer_spec buffer = { .name = "probe", .bytes = 4096, .align_bytes = 64 };
	struct kw_session_opts so = { .buffers = &buffer, .buffer_count = 1, .slots = 1 };
	struct kw_player_opts po = { .threads = 1 };
	struct kw_session *session = NULL;
	struct kw_player *p = NULL;
	struct kw_error err;
	char said[2100];
	int64_t begin = kw_now_ns();
	enum kw_status status;

	kw_error_reset(&err);
	status = d->ops->session_new(d, &so, &session, &err);
	if (status == KW_OK)
		status = d->ops->player_start(session, &po, &p, &err);
	if (status == KW_OK)
		fact(x, "sandbox", name, kw_player_layers(p)[0] ? KW_HEALTH_GOOD : KW_HEALTH_BAD, "%s; started in %.3f s",
		     kw_player_layers(p)[0] ? kw_player_layers(p) : "no layer is granted here", (double)(kw_now_ns() - begin) * 1e-9);
	else
		fact(x, "sandbox", name, KW_HEALTH_BAD, "cannot be started: %s",
		     kw_error_line(&err, said, sizeof(said)));
	if (p)
		d->ops->player_stop(p);
	if (session)
		d->ops->session_free(session);
}

static void compiler_box(struct exam *x)
{
	struct kw_sandbox *box = NULL;
	struct kw_error err;
	char said[2100];
	const char *tmp = getenv("TMPDIR");

	kw_error_reset(&err);
	if (kw_sandbox_compiler_new(tmp ? tmp : "/tmp", NULL, &box, &err) == KW_OK)
		fact(x, "sandbox", "compiler", KW_HEALTH_GOOD, "%s", kw_sandbox_layers(box));
	else
		fact(x, "sandbox", "compiler", KW_HEALTH_BAD, "%s", kw_error_line(&err, said, sizeof(said)));
	kw_sandbox_free(box);
	fact(x, "sandbox", "landlock", kw_landlock_abi() ? KW_HEALTH_GOOD : KW_HEALTH_MISSING,
	     kw_landlock_abi() ? "ABI %d" : "this kernel has none (ABI %d)", kw_landlock_abi());
}

/* By doing it: permissions alone do not say it for root, nor on a read-only or full disk. */
static bool can_write(const char *folder)
{
	char name[4096 + 32];

	if (snprintf(name, sizeof(name), "%s/.kwright-XXXXXX", folder) >= (int)sizeof(name) || !mkdtemp(name))
		return false;
	return rmdir(name) == 0;
}

/* bad: what it is where it cannot be written. Without experience and cache all works, only forgetful and slower. */
static void place(struct exam *x, const char *name, const char *path, enum kw_op_health bad)
{
	const char *at = path;
	char parent[4096];
	bool writable;

	if (!path) {
		fact(x, "files", name, KW_HEALTH_MISSING, "neither its XDG variable nor HOME is set");
		return;
	}
	/* The nearest folder that is there decides whether it can be made. */
	snprintf(parent, sizeof(parent), "%s", path);
	while (!kw_path_exists(at) && strrchr(parent, '/') && parent[1]) {
		char *slash = strrchr(parent, '/');

		slash[slash == parent] = '\0';
		at = parent;
	}
	if (!kw_path_exists(at))
		at = ".";
	writable = can_write(at);
	fact(x, "files", name, writable ? KW_HEALTH_GOOD : bad, "%s%s", path,
	     !writable ? " cannot be written" : kw_path_exists(path) ? "" : " (not made yet)");
}

static void files(struct exam *x)
{
	struct kw_arena a;
	struct kw_store *s = NULL;
	struct kw_error err;
	struct kw_run_row *rows;
	char said[2100];
	char **paths;
	size_t n = 0;
	enum kw_status status;

	kw_arena_init(&a, 64 << 20);
	kw_error_reset(&err);
	status = kw_store_open(x->env->store_dir, true, &s, &err);
	if (status == KW_OK)
		status = kw_store_run_list(s, &a, &rows, &n, &err);
	if (status == KW_OK)
		fact(x, "files", "store", KW_HEALTH_GOOD, "%s, schema %d, %zu run%s", x->env->store_dir,
		     kw_store_schema(), n, n == 1 ? "" : "s");
	else if (status == KW_ERR_NOT_FOUND)
		place(x, "store", x->env->store_dir, KW_HEALTH_BAD);
	else
		fact(x, "files", "store", KW_HEALTH_BAD, "%s", kw_error_line(&err, said, sizeof(said)));
	kw_store_close(s);
	place(x, "experience", kw_path_data_home(&a), KW_HEALTH_MISSING);
	place(x, "build cache", kw_path_cache_home(&a), KW_HEALTH_MISSING);
	if (kw_data_list("tasks/", ".yaml", &a, &paths, &n, NULL) == KW_OK)
		fact(x, "files", "tasks", n ? KW_HEALTH_GOOD : KW_HEALTH_BAD, "%zu in the library", n);
	if (kw_data_list("knowledge/patterns/", NULL, &a, &paths, &n, NULL) == KW_OK)
		fact(x, "files", "patterns", n ? KW_HEALTH_GOOD : KW_HEALTH_BAD, "%zu", n);
	kw_arena_release(&a);
}

/* Who can be asked to write kernels; nothing is sent. */
static void models(struct exam *x)
{
	static const char *const keys[] = { "ANTHROPIC_API_KEY", "OPENAI_API_KEY" };
	struct kw_error err;

	kw_error_reset(&err);
	if (kw_curl_load(&err))
		fact(x, "models", "libcurl", KW_HEALTH_GOOD, "loaded");
	else
		fact(x, "models", "libcurl", KW_HEALTH_MISSING, "%s", err.text);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		fact(x, "models", keys[i], KW_HEALTH_INFO, "%s", getenv(keys[i]) ? "set" : "not set");
}

/* Tasks of PyTorch need torch; kernels of Triton need both. Without them the rest works. */
static void python(struct exam *x)
{
	static const struct {
		unsigned wants;
		const char *name;
	} packages[] = { { KW_PYTHON_TORCH, "torch" }, { KW_PYTHON_TORCH | KW_PYTHON_TRITON, "triton" } };
	struct kw_python_found f;
	struct kw_error err;
	char said[2100];

	kw_error_reset(&err);
	if (kw_python_find(KW_PYTHON_TORCH, &f, NULL) != KW_OK && kw_python_find(0, &f, &err) != KW_OK) {
		fact(x, "python", "python3", KW_HEALTH_MISSING, "%s", kw_error_line(&err, said, sizeof(said)));
		return;
	}
	fact(x, "python", "python3", KW_HEALTH_GOOD, "%s, %s (by %s)", f.version, f.path, f.from);
	for (size_t i = 0; i < sizeof(packages) / sizeof(packages[0]); i++) {
		kw_error_reset(&err);
		if (kw_python_find(packages[i].wants, &f, &err) == KW_OK)
			fact(x, "python", packages[i].name, KW_HEALTH_GOOD, "%s", i ? f.triton : f.torch);
		else
			fact(x, "python", packages[i].name, KW_HEALTH_MISSING, "%s", kw_error_line(&err, said, sizeof(said)));
	}
}

static void ceilings(struct exam *x, struct kw_device *d, bool measure, void (*progress)(const char *what))
{
	static const struct {
		enum kw_ceiling_kind kind;
		const char *name, *unit;
	} kinds[] = {
		{ KW_CEILING_READ, "read", "B/s" }, { KW_CEILING_WRITE, "write", "B/s" },
		{ KW_CEILING_COPY, "copy", "B/s" }, { KW_CEILING_FLOPS_F32, "f32", "FLOP/s" },
		{ KW_CEILING_FLOPS_F64, "f64", "FLOP/s" },
	};
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		bool flops = kinds[i].unit[0] == 'F';
		struct kw_ceiling c;
		struct kw_error err;
		char said[2100], rate[40], size[40];
		enum kw_status status;

		kw_error_reset(&err);
		if (measure && progress)
			progress(kinds[i].name);
		status = d->ops->ceiling(d, kinds[i].kind, flops ? 0 : CEILING_BYTES,
					 measure ? KW_MEASURE_AGAIN : KW_MEASURE_NEVER, &c, &err);
		if (status == KW_NO)
			fact(x, "ceiling", kinds[i].name, KW_HEALTH_MISSING, "not measured yet (--measure)");
		else if (status != KW_OK)
			fact(x, "ceiling", kinds[i].name, KW_HEALTH_BAD, "%s",
			     kw_error_line(&err, said, sizeof(said)));
		else if (flops)
			fact(x, "ceiling", kinds[i].name, KW_HEALTH_GOOD, "%s (%s)",
			     kw_human_rate(c.per_s, kinds[i].unit, rate, sizeof(rate)), c.method);
		else
			fact(x, "ceiling", kinds[i].name, KW_HEALTH_GOOD, "%s in calls of %s (%s)",
			     kw_human_rate(c.per_s, kinds[i].unit, rate, sizeof(rate)),
			     kw_human_bytes((double)c.bytes, size, sizeof(size)), c.method);
	}
}

enum kw_status kw_op_doctor(const struct kw_op_env *env, bool measure, void (*progress)(const char *what),
			    struct kw_op_doctor *out, struct kw_error *err)
{
	struct exam x = { .d = out, .env = env };
	struct kw_device *d = NULL;
	struct kw_error opened;
	char said[2100];

	memset(out, 0, sizeof(*out));
	out->healthy = true;
	kw_arena_init(&out->arena, 4 << 20);
	kw_error_reset(&opened);
	out->facts = kw_arena_calloc(&out->arena, FACTS_MAX, sizeof(*out->facts));
	if (!out->facts)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	fact(&x, "program", "kwright", KW_HEALTH_INFO, "%s", KW_VERSION);
	if (kw_device_open("cpu", &d, &opened) == KW_OK)
		machine(&x, &d->hardware);
	else
		fact(&x, "machine", "cpu", KW_HEALTH_BAD, "%s", kw_error_line(&opened, said, sizeof(said)));
	backends(&x);
	devices(&x);
	if (d)
		player(&x, d, "player");
	for (size_t i = 0; i < x.device_count; i++) {
		snprintf(said, sizeof(said), "%s player", x.devices[i]->ops->name);
		player(&x, x.devices[i], said);
	}
	compiler_box(&x);
	if (d)
		ceilings(&x, d, measure, progress);
	for (size_t i = 0; i < x.device_count; i++) {
		device_ceilings(&x, x.devices[i], measure, progress);
		kw_device_close(x.devices[i]);
	}
	files(&x);
	models(&x);
	python(&x);
	if (d)
		kw_device_close(d);
	return x.failed ? kw_fail(err, KW_ERR_NOMEM, "", "out of memory") : KW_OK;
}

void kw_op_doctor_release(struct kw_op_doctor *d)
{
	kw_arena_release(&d->arena);
	memset(d, 0, sizeof(*d));
}
