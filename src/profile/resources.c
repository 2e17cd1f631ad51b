/* Registers, spills, shared memory: from a cubin, and from what ptxas prints. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "backend/cubin.h"
#include "backend/cuda.h"
#include "profile/input.h"

enum { MAX_FUNCTIONS = 512, MAX_NAME = 256 };

static void set_if(struct kw_launch *k, int metric, double v)
{
	if (v > 0)
		kw_launch_set(k, metric, v);
}

void kw_read_cubin(const char *bytes, size_t len, struct kw_launches *out)
{
	struct kw_cubin c;
	const char *symbol;

	out->form = "a CUDA object (cubin)";
	if (!kw_cubin_open(&c, bytes, len)) {
		kw_launches_note(out, 0, "these bytes are no CUDA object");
		return;
	}
	for (size_t i = 0; i < MAX_FUNCTIONS && (symbol = kw_cubin_symbol(&c, i)); i++) {
		struct kw_cubin_kernel k;
		struct kw_launch *l;
		char plain[128];
		bool several;

		kw_plain_name(symbol, plain, sizeof(plain));
		if (!kw_cubin_kernel(&c, symbol, &k, &several)) {
			kw_launches_note(out, 0, "%.100s: what the object says of this kernel cannot be read%s", plain,
					 strlen(symbol) >= sizeof(k.facts.symbol) ? ": its name is too long" : "");
			continue;
		}
		l = kw_launches_add(out, kw_str_from(plain), 0);
		if (!l)
			break;
		l->value[KW_M_GPU] = 1;
		kw_launch_set(l, KW_M_ARCH, c.sm);
		kw_launch_set(l, KW_M_REGISTERS, k.facts.registers);
		kw_launch_set(l, KW_M_STATIC_SMEM, (double)k.facts.static_smem_bytes);
		kw_launch_set(l, KW_M_STACK, (double)k.facts.stack_bytes);
		set_if(l, KW_M_BOUND_THREADS, k.facts.max_threads);
		set_if(l, KW_M_BLOCK, (double)(k.facts.block[0] * k.facts.block[1] * k.facts.block[2]));
	}
	if (out->count == 0 && out->note_count == 0)
		kw_launches_note(out, 0, "there is no kernel in this object");
}

/* ---- ptxas ---- */

static bool find(struct kw_str s, const char *word, struct kw_str *behind)
{
	const char *at = memmem(s.ptr, s.len, word, strlen(word));

	if (at)
		*behind = (struct kw_str){ at + strlen(word), (size_t)(s.ptr + s.len - at) - strlen(word) };
	return at != NULL;
}

/* The number that ends right before a word: "24 bytes spill stores". */
static double before(struct kw_str s, const char *word)
{
	const char *at = memmem(s.ptr, s.len, word, strlen(word)), *start;
	double v;

	if (!at)
		return -1;
	while (at > s.ptr && at[-1] == ' ')
		at--;
	for (start = at; start > s.ptr && isdigit((unsigned char)start[-1]);)
		start--;
	return kw_str_to_f64((struct kw_str){ start, (size_t)(at - start) }, &v) ? v : -1;
}

/* fresh: a line with which the report of a function begins, so what was said of the same name before is of another architecture. */
static struct kw_launch *function(struct kw_launches *out, struct kw_str name, int line, bool fresh)
{
	char text[MAX_NAME], plain[128];
	size_t n = 0;

	name = kw_str_trim(name);
	if (name.len && *name.ptr == '\'')
		name = (struct kw_str){ name.ptr + 1, name.len - 1 };
	while (n < name.len && n < MAX_NAME - 1 &&
	       (isalnum((unsigned char)name.ptr[n]) || name.ptr[n] == '_' || name.ptr[n] == '$'))
		n++;
	snprintf(text, sizeof(text), "%.*s", (int)n, name.ptr);
	kw_plain_name(text, plain, sizeof(plain));
	/* "Compiling entry function" and "Function properties" are about the same one. */
	for (size_t i = out->count; !fresh && i-- > 0 && i + 4 > out->count;)
		if (strcmp(out->list[i]->id, text) == 0)
			return out->list[i];
	if (out->count >= MAX_FUNCTIONS)
		return NULL;
	struct kw_launch *k = kw_launches_add(out, kw_str_from(plain), line);

	if (k) {
		k->id = kw_launches_intern(out, kw_str_from(text));
		k->value[KW_M_GPU] = 1;
	}
	return k;
}

/* Remarks of AMD's compiler (-Rpass-analysis=kernel-resource-usage), a line a figure. */
static void amd_remark(struct kw_launch *k, struct kw_str line)
{
	static const struct {
		const char *word;
		int metric;
	} list[] = { { " VGPRs: ", KW_M_REGISTERS },
		     { " ScratchSize [bytes/lane]: ", KW_M_STACK },
		     { " VGPRs Spill: ", KW_M_VGPR_SPILLS },
		     { " LDS Size [bytes/block]: ", KW_M_STATIC_SMEM } };
	struct kw_str behind;
	double v;

	k->value[KW_M_HIP] = 1;
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		if (find(line, list[i].word, &behind)) {
			behind.len = behind.len && memchr(behind.ptr, ' ', behind.len) ? (size_t)((const char *)memchr(behind.ptr, ' ', behind.len) - behind.ptr)
										       : behind.len;
			if (kw_str_to_f64(behind, &v))
				kw_launch_set(k, list[i].metric, v);
		}
}

/* "k.c:7:5: missed: couldn't vectorize loop", gcc's report. */
static void vector_line(struct kw_launches *out, struct kw_launch **now, struct kw_str line)
{
	bool vectorised;
	int number;

	if (!kw_read_vector_line(line, &number, &vectorised))
		return;
	if (!*now)
		*now = kw_launches_add(out, KW_STR("the loops"), 1);
	if (!*now)
		return;
	(*now)->value[KW_M_GPU] = 0;
	/* clang says of a loop that it did not take it, and in a line of its own why. */
	if (!vectorised && (*now)->places && (*now)->places->metric == KW_M_LOOPS_SCALAR && (*now)->places->line == number)
		return;
	kw_launch_add_count(*now, vectorised ? KW_M_LOOPS_VECTOR : KW_M_LOOPS_SCALAR, 1);
	kw_launch_place(*now, vectorised ? KW_M_LOOPS_VECTOR : KW_M_LOOPS_SCALAR, number, KW_STR(""));
}

/* The digits behind a word: "sm_90a" is 90. */
static bool number_behind(struct kw_str line, const char *word, double *v)
{
	struct kw_str behind;
	size_t n = 0;

	if (!find(line, word, &behind))
		return false;
	while (n < behind.len && isdigit((unsigned char)behind.ptr[n]))
		n++;
	return kw_str_to_f64((struct kw_str){ behind.ptr, n }, v);
}

static void set_architecture(struct kw_launch *k, struct kw_str line, const char *word)
{
	double v;

	if (k && number_behind(line, word, &v))
		kw_launch_set(k, KW_M_ARCH, v);
}

/* "REG:168 STACK:0 SHARED:49152 LOCAL:0 ...", a line of cuobjdump -res-usage. */
static void usage(struct kw_launch *k, struct kw_str line)
{
	static const struct {
		const char *word;
		int metric;
	} list[] = { { " REG:", KW_M_REGISTERS }, { " STACK:", KW_M_STACK }, { " SHARED:", KW_M_STATIC_SMEM } };
	double v;

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		if (number_behind(line, list[i].word, &v))
			kw_launch_set(k, list[i].metric, v);
}

void kw_read_log(const char *text, size_t len, struct kw_launches *out)
{
	struct kw_str rest = { text, len }, line, behind, architecture = KW_STR("");
	struct kw_launch *now = NULL, *loops = NULL;
	bool foreign = false, entries = memmem(text, len, "Compiling entry function ", 25);
	size_t known; /* functions, before the line */
	int n = 0;

	out->form = "a compiler's log";
	while (rest.ptr && kw_str_split(&rest, '\n', &line)) {
		double v;

		n++;
		vector_line(out, &loops, line);
		if (memmem(line.ptr, line.len, "-Rpass-analysis=kernel-resource-usage", 37)) {
			if (find(line, "Function Name: ", &behind))
				now = function(out, behind, n, false);
			if (now)
				amd_remark(now, line);
			continue;
		}
		if (find(line, "Compiling entry function ", &behind)) {
			foreign = false;
			now = function(out, behind, n, true);
			set_architecture(now, line, " for 'sm_");
			continue;
		}
		if (find(line, "Function properties for ", &behind)) {
			/* What the runtime on the device brings, cudaMalloc and the like, is nobody's kernel. */
			foreign = behind.len > 4 && memcmp(behind.ptr, "cuda", 4) == 0 && isupper((unsigned char)behind.ptr[4]);
			if (foreign)
				continue;
			known = out->count;
			now = function(out, behind, n, false);
			if (now && out->count > known && entries)
				now->value[KW_M_CALLED] = 1;
			continue;
		}
		if (foreign)
			continue;
		/* cuobjdump -res-usage */
		if (find(line, "arch = sm_", &behind))
			architecture = line;
		if (kw_str_starts(kw_str_trim(line), "Function ") && line.ptr[line.len - 1] == ':') {
			find(line, "Function ", &behind);
			now = function(out, behind, n, true);
			set_architecture(now, architecture, "arch = sm_");
			continue;
		}
		if (now && find(line, " REG:", &behind) && find(line, " STACK:", &behind)) {
			usage(now, line);
			continue;
		}
		if (find(line, "spilled to local memory in function ", &behind)) {
			now = function(out, behind, n, false);
			if (!now)
				continue;
		}
		if (!now && (memmem(line.ptr, line.len, "bytes spill", 11) ||
			     (find(line, ": Used ", &behind) && memmem(behind.ptr, behind.len, "registers", 9))))
			now = function(out, KW_STR(""), n, false);
		/* "162 registers/thread, 512 threads": somebody's report. */
		if (!now && before(line, "registers") > 0 && before(line, "threads") > 0)
			now = function(out, KW_STR(""), n, false);
		if (!now)
			continue;
		if (!find(line, "Used ", &behind) && !find(line, "Compiling", &behind)) {
			if ((v = before(line, "registers")) > 0)
				kw_launch_set(now, KW_M_REGISTERS, v);
			if ((v = before(line, "threads")) > 0 && v <= 1024)
				kw_launch_set(now, KW_M_BLOCK, v);
		}
		if ((v = before(line, "bytes stack frame")) >= 0)
			kw_launch_set(now, KW_M_STACK, v);
		if ((v = before(line, "bytes spill stores")) >= 0)
			kw_launch_set(now, KW_M_SPILL_STORE, v);
		if ((v = before(line, "bytes spill loads")) >= 0)
			kw_launch_set(now, KW_M_SPILL_LOAD, v);
		if (find(line, "Used ", &behind) && (v = before(line, "registers")) >= 0)
			kw_launch_set(now, KW_M_REGISTERS, v);
		if (find(line, "Used ", &behind) && (v = before(line, "bytes smem")) >= 0)
			kw_launch_set(now, KW_M_STATIC_SMEM, v);
	}
}

bool kw_read_vector_line(struct kw_str line, int *number, bool *vectorised)
{
	/* gcc's -fopt-info-vec-all; clang's -Rpass=loop-vectorize and -Rpass-missed, of which the -analysis gives reasons. */
	static const char *const took[] = { "optimized: loop vectorized", "remark: vectorized loop" },
				 *const left[] = { "missed: couldn't vectorize loop", "remark: loop not vectorized",
						   "remark: the cost-model indicates that vectorization is not beneficial" };
	const char *colon = memchr(line.ptr, ':', line.len);
	bool missed = false;

	*number = 0;
	*vectorised = false;
	for (size_t i = 0; i < sizeof(took) / sizeof(took[0]); i++)
		*vectorised = *vectorised || memmem(line.ptr, line.len, took[i], strlen(took[i]));
	for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++)
		missed = missed || memmem(line.ptr, line.len, left[i], strlen(left[i]));
	if (!colon || (!*vectorised && !missed))
		return false;
	for (const char *p = colon + 1; p < line.ptr + line.len && isdigit((unsigned char)*p); p++)
		*number = *number < 100000000 ? *number * 10 + (*p - '0') : *number;
	return *number > 0;
}
