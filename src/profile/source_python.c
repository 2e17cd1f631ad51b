/* Python source: clocks around launches, and Triton kernels, read line by line. */
#include <ctype.h>
#include <string.h>

#include "profile/input.h"
#include "profile/timing.h"

enum { MAX_RANGES = 64, MAX_BLOCKS = 64, MAX_LOOPS = 8 };

/* ---- names ---- */

struct ranges {
	struct kw_str name[MAX_RANGES];
	size_t count;
};
/* Parameters that give a range its length, by kernel: a launch gives them a value. */
struct blocks {
	struct {
		struct kw_launch *kernel;
		struct kw_str name;
	} list[MAX_BLOCKS];
	size_t count;
};

/* A loop of a kernel: what its loads take a step. */
struct loop {
	size_t indent;
	struct kw_str name;               /* of its counter; "" */
	int scalar_line;                  /* of a load of one value that the counter chooses; 0: there is none */
	struct kw_str scalar;
	bool blocks;                      /* it loads whole blocks too */
};
struct python {
	struct kw_launches *out;
	struct kw_launch *kernel;         /* whose lines are read; NULL: outside of kernels */
	struct kw_launch *called;         /* whose launch goes over several lines */
	size_t kernel_indent;
	bool named;                       /* the kernel's def was read */
	struct ranges lanes, ranged, loaded;
	struct blocks blocks;
	struct loop loops[MAX_LOOPS];
	size_t loop_count;
};

static bool in_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static void block_length(struct kw_launch *kernel, int64_t n, struct kw_str line, int number)
{
	int64_t power = 1;

	if (!kernel || n <= 0 || (n & (n - 1)) == 0)
		return;
	while (power < n)
		power *= 2;
	kw_launch_set(kernel, KW_M_CODE_BLOCK_LENGTH, (double)n);
	kw_launch_set(kernel, KW_M_CODE_BLOCK_POWER, (double)power);
	kw_launch_place(kernel, KW_M_CODE_BLOCK_LENGTH, number, line);
}

/* tl.arange(0, 200): a block that is no power of two. tl.arange(0, BLOCK): as long as a launch says. */
static void arange(struct kw_launch *kernel, struct blocks *blocks, struct kw_str line, int number)
{
	const char *at = memmem(line.ptr, line.len, "tl.arange(", 10), *comma, *end = line.ptr + line.len;
	struct kw_str length;
	int64_t n = 0;

	comma = at ? memchr(at, ',', (size_t)(end - at)) : NULL;
	at = comma ? memchr(comma, ')', (size_t)(end - comma)) : NULL;
	if (!kernel || !at)
		return;
	length = kw_str_trim((struct kw_str){ comma + 1, (size_t)(at - comma - 1) });
	for (size_t i = 0; i < length.len; i++) {
		if (!in_name(length.ptr[i]))
			return;
		n = n < 1 << 30 ? n * 10 + (length.ptr[i] - '0') : n;
	}
	if (length.len && !isdigit((unsigned char)*length.ptr)) {
		if (blocks->count < MAX_BLOCKS) {
			blocks->list[blocks->count].kernel = kernel;
			blocks->list[blocks->count++].name = length;
		}
		return;
	}
	block_length(kernel, n, line, number);
}

/* `BLOCK=1000` in the launch of a kernel whose ranges are that long. */
static void launched_with(const struct blocks *blocks, const struct kw_launch *called, struct kw_str line, int number)
{
	for (size_t b = 0; b < blocks->count; b++) {
		struct kw_str name = blocks->list[b].name;

		for (size_t i = 1; blocks->list[b].kernel == called && i + name.len + 1 < line.len; i++) {
			size_t at = i + name.len;
			int64_t n = 0;

			if (memcmp(line.ptr + i, name.ptr, name.len) != 0 || in_name(line.ptr[i - 1]))
				continue;
			while (at < line.len && line.ptr[at] == ' ')
				at++;
			if (at >= line.len || line.ptr[at] != '=')
				continue;
			for (at++; at < line.len && line.ptr[at] == ' ';)
				at++;
			while (at < line.len && isdigit((unsigned char)line.ptr[at]))
				n = n < 1 << 30 ? n * 10 + (line.ptr[at++] - '0') : (at++, n);
			if (at >= line.len || line.ptr[at] == ',' || line.ptr[at] == ')')
				block_length(blocks->list[b].kernel, n, line, number);
		}
	}
}

/* The kernel that `name[grid](...)` launches. */
static struct kw_launch *called_in(const struct kw_launches *l, struct kw_str line)
{
	for (size_t i = 0; i < l->count; i++) {
		size_t n = strlen(l->list[i]->kernel);
		const char *at = n ? memmem(line.ptr, line.len, l->list[i]->kernel, n) : NULL;

		if (at && at + n < line.ptr + line.len && at[n] == '[' && (at == line.ptr || !in_name(at[-1])))
			return l->list[i];
	}
	return NULL;
}

/* `r = tl.arange(0, N)`, also with something added: r runs with the lanes. */
static void lane_name(struct ranges *r, struct kw_str line)
{
	const char *equals = memchr(line.ptr, '=', line.len);
	struct kw_str name;

	if (!equals || !kw_str_holds(line, "tl.arange(") || r->count == MAX_RANGES)
		return;
	name = kw_str_trim((struct kw_str){ line.ptr, (size_t)(equals - line.ptr) });
	for (size_t i = 0; i < name.len; i++)
		if (!isalnum((unsigned char)name.ptr[i]) && name.ptr[i] != '_')
			return;
	if (name.len && !kw_str_holds((struct kw_str){ equals, (size_t)(line.ptr + line.len - equals) }, "["))
		r->name[r->count++] = name;
}

static bool holds_name(const struct ranges *r, struct kw_str s)
{
	for (size_t n = 0; n < r->count; n++)
		for (size_t i = 0; i + r->name[n].len <= s.len; i++)
			if (memcmp(s.ptr + i, r->name[n].ptr, r->name[n].len) == 0 && (i == 0 || !in_name(s.ptr[i - 1])) &&
			    (i + r->name[n].len == s.len || !in_name(s.ptr[i + r->name[n].len])))
				return true;
	return false;
}

/* `idx = tl.load(...)` and what is made of it is data; `i = pid * B + tl.arange(0, B)` and what is made of it an element for each lane. */
static void assigned(struct ranges *ranged, struct ranges *loaded, struct kw_str line)
{
	const char *equals = memchr(line.ptr, '=', line.len);
	struct kw_str name, value;
	struct ranges *to;

	if (!equals || equals == line.ptr)
		return;
	name = kw_str_trim((struct kw_str){ line.ptr, (size_t)(equals - line.ptr) });
	value = (struct kw_str){ equals, (size_t)(line.ptr + line.len - equals) };
	for (size_t i = 0; i < name.len; i++)
		if (!in_name(name.ptr[i]))
			return;
	to = kw_str_holds(value, "tl.load(") || holds_name(loaded, value) ? loaded : kw_str_holds(value, "tl.arange(") || holds_name(ranged, value) ? ranged : NULL;
	if (to && name.len && to->count < MAX_RANGES)
		to->name[to->count++] = name;
}

/* Whose address an atomic has: a lane's own, the program's (one atomic for all its lanes), or one that data gives. */
static void atomic(struct python *p, struct kw_str line, int number)
{
	const char *at = memmem(line.ptr, line.len, "tl.atomic_", 10), *end = line.ptr + line.len, *q;
	struct kw_str address;
	bool own;
	int open = 0;

	kw_launch_add_count(p->kernel, KW_M_CODE_ATOMIC_GLOBAL, 1);
	kw_launch_place(p->kernel, KW_M_CODE_ATOMIC_GLOBAL, number, line);
	at = memchr(at, '(', (size_t)(end - at));
	if (!at)
		return;
	for (q = ++at; q < end && !(open == 0 && *q == ','); q++)
		open += (*q == '(' || *q == '[') - (*q == ')' || *q == ']');
	address = (struct kw_str){ at, (size_t)(q - at) };
	own = kw_str_holds(address, "tl.arange(") || holds_name(&p->ranged, address);
	/* In a loop the one address of a program is added to at each step. */
	if (p->loop_count && !own)
		kw_launch_add_count(p->kernel, KW_M_CODE_ATOMIC_LOOP, 1);
	/* A block of one address: each of its elements adds there. */
	if (kw_str_holds(address, "tl.zeros(") || kw_str_holds(address, "tl.full("))
		return;
	if (q < end && !kw_str_holds(address, "tl.load(") && !holds_name(&p->loaded, address))
		kw_launch_add_count(p->kernel, own ? KW_M_CODE_ATOMIC_OWN : KW_M_CODE_ATOMIC_GUARDED, 1);
}

/* tl.load(x + r * cols + c): neighbouring lanes are a row apart. Blocks of two dimensions have one that runs along memory. */
static bool is_strided(const struct ranges *r, struct kw_str line)
{
	if ((!kw_str_holds(line, "tl.load(") && !kw_str_holds(line, "tl.store(")) || kw_str_holds(line, "["))
		return false;
	for (size_t n = 0; n < r->count; n++)
		for (size_t i = 0; i + r->name[n].len < line.len; i++) {
			const char *p = line.ptr + i, *end = line.ptr + line.len, *next = p + r->name[n].len;

			if (memcmp(p, r->name[n].ptr, r->name[n].len) != 0 || (i && (isalnum((unsigned char)p[-1]) || p[-1] == '_')))
				continue;
			while (next < end && *next == ' ')
				next++;
			if (next + 1 < end && *next == '*' && next[1] != '*')
				return true;
		}
	return false;
}

/* ---- loops ---- */

/* A loop that loads one value a step, and no block, leaves all lanes of the program but one without work. */
static void end_loops(struct python *p, size_t indent)
{
	while (p->loop_count && p->loops[p->loop_count - 1].indent >= indent) {
		const struct loop *l = &p->loops[--p->loop_count];

		if (l->scalar_line && !l->blocks) {
			kw_launch_add_count(p->kernel, KW_M_CODE_SERIAL, 1);
			kw_launch_place(p->kernel, KW_M_CODE_SERIAL, l->scalar_line, l->scalar);
		}
	}
}

static void begin_loop(struct python *p, struct kw_str line, size_t indent)
{
	bool counts = kw_str_starts(line, "for ");
	size_t n = 0;

	if ((!counts && !kw_str_starts(line, "while ")) || p->loop_count == MAX_LOOPS)
		return;
	while (counts && 4 + n < line.len && in_name(line.ptr[4 + n]))
		n++;
	p->loops[p->loop_count++] = (struct loop){ .indent = indent, .name = { line.ptr + 4, n } };
}

static void load_in_loop(struct python *p, struct kw_str line, int number)
{
	struct loop *l = p->loop_count ? &p->loops[p->loop_count - 1] : NULL;
	const char *at = memmem(line.ptr, line.len, "tl.load(", 8);
	struct ranges counter = { .count = 1 };
	struct kw_str address;

	if (!l || !at)
		return;
	address = (struct kw_str){ at, (size_t)(line.ptr + line.len - at) };
	counter.name[0] = l->name;
	if (kw_str_holds(address, "tl.arange(") || holds_name(&p->ranged, address) || holds_name(&p->loaded, address) || !l->name.len ||
	    !holds_name(&counter, address)) {
		l->blocks = true;
	} else if (!l->scalar_line) {
		l->scalar_line = number;
		l->scalar = line;
	}
}

/* ---- a kernel ---- */

/* tl.sum(a[:, :, None] * b[None, :, :], axis=1) is a product of matrices. */
static bool is_product_by_sum(struct kw_str line)
{
	const char *sum = memmem(line.ptr, line.len, "tl.sum(", 7);
	struct kw_str inside;

	if (!sum)
		return false;
	inside = (struct kw_str){ sum, (size_t)(line.ptr + line.len - sum) };
	return kw_str_holds(inside, "None") && kw_str_holds(inside, "*") && (kw_str_holds(inside, "[:, :, None]") || kw_str_holds(inside, "[None, :, :]") || kw_str_holds(inside, "[:, None, :]"));
}

static void kernel_begins(struct python *p, size_t indent, int number)
{
	p->lanes.count = p->ranged.count = p->loaded.count = 0;
	p->loop_count = 0;
	p->kernel = kw_launches_add(p->out, KW_STR("a Triton kernel"), number);
	p->named = false;
	p->kernel_indent = indent;
	if (!p->kernel)
		return;
	p->kernel->value[KW_M_GPU] = p->kernel->value[KW_M_TRITON] = 1;
	p->kernel->value[KW_M_CODE_MATRIX] = 0;
}

static void kernel_name(struct python *p, struct kw_str line)
{
	size_t n = 0;

	p->named = true;
	while (4 + n < line.len && line.ptr[4 + n] != '(')
		n++;
	p->kernel->kernel = kw_launches_intern(p->out, (struct kw_str){ line.ptr + 4, n });
}

static void kernel_line(struct python *p, struct kw_str line, size_t indent, int number)
{
	end_loops(p, indent);
	arange(p->kernel, &p->blocks, line, number);
	assigned(&p->ranged, &p->loaded, line);
	if (is_strided(&p->lanes, line)) {
		kw_launch_add_count(p->kernel, KW_M_CODE_STRIDED, 1);
		kw_launch_place(p->kernel, KW_M_CODE_STRIDED, number, line);
	}
	load_in_loop(p, line, number);
	if (!p->named && kw_str_starts(line, "def "))
		kernel_name(p, line);
	else if (kw_str_holds(line, "tl.atomic_"))
		atomic(p, line, number);
	else if (kw_str_holds(line, "tl.dot"))
		kw_launch_add_count(p->kernel, KW_M_CODE_MATRIX, 1);
	else if (kw_str_holds(line, "tl.float64"))
		kw_launch_add_count(p->kernel, KW_M_CODE_DOUBLES, 1);
	if (is_product_by_sum(line)) {
		kw_launch_add_count(p->kernel, KW_M_CODE_MATMUL, 1);
		kw_launch_place(p->kernel, KW_M_CODE_MATMUL, number, line);
	}
	begin_loop(p, line, indent);
}

static void read_line(struct python *p, struct kw_str line, size_t indent, int number)
{
	struct kw_launch *now;

	/* A statement beside its def ends a kernel; the ")" of a long list of parameters does not. */
	if (p->kernel && ((p->named && indent <= p->kernel_indent && (in_name(*line.ptr) || *line.ptr == '@')) ||
			  kw_str_starts(line, "@triton.jit"))) {
		end_loops(p, 0);
		p->kernel = NULL;
	}
	lane_name(&p->lanes, line);
	if (kw_str_starts(line, "@triton.jit")) {
		kernel_begins(p, indent, number);
		return;
	}
	if (p->kernel) {
		kernel_line(p, line, indent, number);
		return;
	}
	now = called_in(p->out, line);
	p->called = now ? now : p->called;
	if (p->called)
		launched_with(&p->blocks, p->called, line, number);
	if (line.ptr[line.len - 1] == ')')
		p->called = NULL;
}

void kw_read_python(const char *text, size_t len, struct kw_launches *out)
{
	struct kw_str rest = { text, len }, line, all = { text, len };
	bool device = kw_str_holds(all, "cuda") || kw_str_holds(all, "triton");
	struct kw_timing timing = { .out = out };
	struct python p = { .out = out };
	int number = 0;

	out->form = "Python source";
	while (rest.ptr && kw_str_split(&rest, '\n', &line)) {
		const char *hash = memchr(line.ptr, '#', line.len);
		size_t indent = 0;

		number++;
		if (hash)
			line.len = (size_t)(hash - line.ptr);
		while (indent < line.len && (line.ptr[indent] == ' ' || line.ptr[indent] == '\t'))
			indent++;
		line = kw_str_trim(line);
		if (line.len == 0)
			continue;
		read_line(&p, line, indent, number);
		if (kw_str_starts(line, "def "))
			kw_timing_forget(&timing);
		kw_timing_step(&timing, kw_timing_python(line, device), number, line);
	}
	if (p.kernel)
		end_loops(&p, 0);
	if (out->count == 0)
		kw_launches_note(out, 0,
				 "there is no Triton kernel in it, and no clock that is read before the device is done; what takes a program's time, a profile says: "
				 "torch.profiler with export_chrome_trace, or nsys");
}
