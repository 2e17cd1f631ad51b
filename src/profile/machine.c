/* PTX and disassemblies: opcodes of each kernel, with the loops that they stand in and the source lines where the file has
 * them. PTX is what the compiler was asked for, SASS what it made. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/input.h"

enum { MAX_LABELS = 4096, MAX_OPCODE = 96, MAX_INSTRUCTIONS = 400000, MAX_STACK_PLACES = 32 };

/* Loops by jumps back: a label that was seen before and is jumped to. */
struct label {
	char name[48];
	size_t at;                        /* index of the next instruction */
};
struct place {
	int metric, line;
	size_t at;
};
struct stack_place {
	char name[16];
};
struct machine {
	struct kw_launches *out;
	struct kw_launch *now;
	struct label *labels;
	size_t label_count, instructions;
	struct place *loopable;           /* counted again when a loop turns out to be around them */
	size_t loopable_count, loopable_cap;
	int source_line, line;            /* line: of the input */
	struct stack_place stack[MAX_STACK_PLACES]; /* of PTX: registers that are a fixed distance from the stack pointer */
	unsigned stack_next;
	bool ptx, shuffles;               /* shuffles: lanes were summed up before an atomic */
};

static const struct {
	int metric, in_loop;
} loops[] = {
	{ KW_M_CODE_DIV, KW_M_CODE_DIV_LOOP },
	{ KW_M_CODE_BARRIER, KW_M_CODE_BARRIER_LOOP },
	{ KW_M_CODE_ATOMIC_GLOBAL, KW_M_CODE_ATOMIC_LOOP },
};

static bool begins(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

/* Whether a mangled name has a 'd' (double) among the types of its parameters or template arguments. */
static bool takes_doubles(const char *name)
{
	for (const char *p = name + 2; *p;) {
		if (isdigit((unsigned char)*p)) {
			unsigned long n = strtoul(p, NULL, 10);

			p += strspn(p, "0123456789");
			p += n < strlen(p) ? n : strlen(p);
		} else if (*p == 'L') { /* a literal: its type and value up to 'E' */
			p += strcspn(p, "E");
		} else if (*p++ == 'd') {
			return true;
		}
	}
	return false;
}

/* A kernel that sums its lanes by shuffles and has no atomic in a loop: one lane issues the atomic. */
static void end(struct machine *m)
{
	double *v = m->now ? m->now->value : NULL;

	if (v && m->shuffles && v[KW_M_CODE_ATOMIC_GLOBAL] > 0 && !(v[KW_M_CODE_ATOMIC_LOOP] > 0))
		v[KW_M_CODE_ATOMIC_GUARDED] = v[KW_M_CODE_ATOMIC_GLOBAL];
	m->shuffles = false;
}

static void start(struct machine *m, struct kw_str name)
{
	static const int zero[] = { KW_M_CODE_INST,
				    KW_M_CODE_FP64,
				    KW_M_CODE_FP64_CONVERT,
				    KW_M_CODE_BARRIER,
				    KW_M_CODE_ATOMIC_GLOBAL,
				    KW_M_CODE_ATOMIC_SHARED,
				    KW_M_CODE_MATRIX,
				    KW_M_CODE_FMA,
				    KW_M_CODE_FADD_FMUL,
				    KW_M_CODE_LOCAL,
				    KW_M_CODE_LOCAL_INDEXED,
				    KW_M_CODE_LOCAL_FIXED,
				    KW_M_CODE_CALLS,
				    KW_M_CODE_LD,
				    KW_M_CODE_LD_WIDE,
				    KW_M_CODE_LD_NARROW,
				    KW_M_CODE_ST,
				    KW_M_CODE_ST_WIDE,
				    KW_M_CODE_ASYNC,
				    KW_M_CODE_SMEM,
				    KW_M_CODE_MUFU_RCP };
	char plain[128], full[256];

	end(m);
	snprintf(full, sizeof(full), "%.*s", (int)(name.len < 255 ? name.len : 255), name.ptr);
	m->now = kw_launches_add(m->out, kw_str_from(kw_plain_name(full, plain, sizeof(plain))), m->line);
	m->label_count = m->instructions = m->loopable_count = 0;
	memset(m->stack, 0, sizeof(m->stack));
	m->source_line = 0;
	if (!m->now)
		return;
	m->now->value[KW_M_GPU] = 1;
	if (!m->ptx && begins(full, "_Z"))
		m->now->value[KW_M_CODE_DOUBLES] = takes_doubles(full);
	for (size_t i = 0; i < sizeof(zero) / sizeof(zero[0]); i++)
		m->now->value[zero[i]] = 0;
	if (m->ptx) {
		m->now->value[KW_M_CODE_DIV] = 0;
		m->now->value[KW_M_CODE_DOUBLES] = 0;
		m->now->value[KW_M_CODE_MUFU_RCP] = 0;
	}
}

static void count(struct machine *m, int metric, struct kw_str text)
{
	kw_launch_add_count(m->now, metric, 1);
	kw_launch_place(m->now, metric, m->source_line ? m->source_line : m->line, text);
	for (size_t i = 0; i < sizeof(loops) / sizeof(loops[0]); i++) {
		if (loops[i].metric != metric)
			continue;
		if (m->loopable_count == m->loopable_cap) {
			size_t cap = m->loopable_cap ? m->loopable_cap * 2 : 256;
			struct place *more = kw_arena_alloc(m->out->arena, cap * sizeof(*more));

			if (!more)
				return;
			if (m->loopable_count)
				memcpy(more, m->loopable, m->loopable_count * sizeof(*more));
			m->loopable = more;
			m->loopable_cap = cap;
		}
		m->loopable[m->loopable_count++] =
			(struct place){ loops[i].in_loop, m->source_line ? m->source_line : m->line, m->instructions };
	}
}

static void add_label(struct machine *m, struct kw_str name)
{
	if (!m->labels)
		m->labels = kw_arena_alloc(m->out->arena, MAX_LABELS * sizeof(*m->labels));
	if (!m->labels || m->label_count == MAX_LABELS || name.len >= sizeof(m->labels[0].name))
		return;
	snprintf(m->labels[m->label_count].name, sizeof(m->labels[0].name), "%.*s", (int)name.len, name.ptr);
	m->labels[m->label_count++].at = m->instructions;
}

/* Everything since `from` is in a loop. Counted once: the innermost jump back takes them off the list. */
static void close_loop(struct machine *m, size_t from)
{
	size_t kept = 0;

	for (size_t i = 0; i < m->loopable_count; i++) {
		if (m->loopable[i].at < from) {
			m->loopable[kept++] = m->loopable[i];
			continue;
		}
		kw_launch_add_count(m->now, m->loopable[i].metric, 1);
		kw_launch_place(m->now, m->loopable[i].metric, m->loopable[i].line, KW_STR(""));
	}
	m->loopable_count = kept;
}

static void jump(struct machine *m, struct kw_str target)
{
	for (size_t i = m->label_count; i-- > 0;)
		if (kw_str_eqz(target, m->labels[i].name)) {
			close_loop(m, m->labels[i].at);
			return;
		}
}

/* ---- PTX ---- */

/* "%rd6" of "[%rd6+8]", or of the operand that begins at p. */
static struct kw_str register_at(const char *p, const char *end)
{
	size_t n = 0;

	while (p + n < end && (p[n] == '%' || isalnum((unsigned char)p[n]) || p[n] == '_'))
		n++;
	return (struct kw_str){ p, n };
}

static struct stack_place *stack_place(struct machine *m, struct kw_str name)
{
	for (struct stack_place *p = m->stack; p < m->stack + MAX_STACK_PLACES; p++)
		if (p->name[0] && kw_str_eqz(name, p->name))
			return p;
	return NULL;
}

/* The stack pointer itself, or what is a fixed distance from it. */
static bool at_fixed_place(struct machine *m, struct kw_str text)
{
	const char *open = memchr(text.ptr, '[', text.len), *end = text.ptr + text.len;
	struct kw_str name = open ? register_at(open + 1, end) : KW_STR("");

	return kw_str_eqz(name, "%SP") || kw_str_eqz(name, "%SPL") || kw_str_starts(name, "__local_depot") || stack_place(m, name);
}

/* add.u64 %rd6, %SPL, 8; what else sets a register makes it unknown. */
static void follow_stack(struct machine *m, const char *op, struct kw_str line)
{
	const char *end = line.ptr + line.len, *to = memchr(line.ptr, '%', line.len), *comma = to ? memchr(to, ',', (size_t)(end - to)) : NULL;
	struct kw_str name = to ? register_at(to, end) : KW_STR("");
	struct stack_place *p;
	bool fixed = false;

	if (!comma || begins(op, "st.") || begins(op, "red.") || begins(op, "bra") || begins(op, "call"))
		return;
	for (comma++; comma < end && *comma == ' ';)
		comma++;
	if (begins(op, "add.") && (kw_str_eqz(register_at(comma, end), "%SPL") || kw_str_eqz(register_at(comma, end), "%SP"))) {
		const char *second = memchr(comma, ',', (size_t)(end - comma));

		fixed = second && !memchr(second, '%', (size_t)(end - second));
	}
	p = stack_place(m, name);
	if (p && !fixed)
		p->name[0] = '\0';
	if (fixed && !p && name.len && name.len < sizeof(m->stack[0].name)) {
		p = &m->stack[m->stack_next++ % MAX_STACK_PLACES];
		memcpy(p->name, name.ptr, name.len);
		p->name[name.len] = '\0';
	}
}

static void ptx_memory(struct machine *m, const char *op, struct kw_str text)
{
	bool load = begins(op, "ld."), global = strstr(op, ".global") != NULL;
	bool wide = strstr(op, ".v4.f32") || strstr(op, ".v4.u32") || strstr(op, ".v4.b32") || strstr(op, ".v2.u64") ||
		    strstr(op, ".v2.f64") || strstr(op, ".v2.b64") || strstr(op, ".v4.s32") || strstr(op, ".v8") ||
		    strstr(op, ".b128");
	bool narrow = !strstr(op, ".v2") && !strstr(op, ".v4") &&
		      (strstr(op, "16") || strstr(op, ".u8") || strstr(op, ".s8") || strstr(op, ".b8"));

	if (strstr(op, ".local")) { /* no register is given out yet: all of it are arrays, or arguments of a call */
		count(m, KW_M_CODE_LOCAL, text);
		if (!at_fixed_place(m, text))
			kw_launch_add_count(m->now, KW_M_CODE_LOCAL_INDEXED, 1);
	} else if (strstr(op, ".shared")) {
		kw_launch_add_count(m->now, KW_M_CODE_SMEM, 1);
	}
	if (!global)
		return;
	count(m, load ? KW_M_CODE_LD : KW_M_CODE_ST, text);
	if (wide)
		kw_launch_add_count(m->now, load ? KW_M_CODE_LD_WIDE : KW_M_CODE_ST_WIDE, 1);
	if (load && narrow)
		kw_launch_add_count(m->now, KW_M_CODE_LD_NARROW, 1);
	if (strstr(op, ".f64"))
		kw_launch_add_count(m->now, KW_M_CODE_DOUBLES, 1);
}

static void ptx_opcode(struct machine *m, const char *op, struct kw_str text)
{
	kw_launch_add_count(m->now, KW_M_CODE_INST, 1);
	if (begins(op, "ld.") || begins(op, "st."))
		ptx_memory(m, op, text);
	else if (strstr(op, ".f64")) {
		if (begins(op, "cvt"))
			count(m, KW_M_CODE_FP64_CONVERT, text);
		if (!begins(op, "mov") && !begins(op, "selp"))
			count(m, KW_M_CODE_FP64, text);
	}
	if ((begins(op, "div.") || begins(op, "rem.")) && !strstr(op, ".f"))
		count(m, KW_M_CODE_DIV, text);
	else if (begins(op, "bar.sync") || begins(op, "barrier.") || begins(op, "bar.red"))
		count(m, KW_M_CODE_BARRIER, text);
	else if (begins(op, "atom.") || begins(op, "red."))
		count(m, strstr(op, ".shared") ? KW_M_CODE_ATOMIC_SHARED : KW_M_CODE_ATOMIC_GLOBAL, text);
	else if (begins(op, "mma.") || begins(op, "wmma.mma") || begins(op, "wgmma.mma") || begins(op, "tcgen05.mma"))
		kw_launch_add_count(m->now, KW_M_CODE_MATRIX, 1);
	else if (begins(op, "cp.async"))
		kw_launch_add_count(m->now, KW_M_CODE_ASYNC, 1);
	else if (begins(op, "fma.") && strstr(op, "f32"))
		kw_launch_add_count(m->now, KW_M_CODE_FMA, 1);
	else if ((begins(op, "add.") || begins(op, "mul.")) && strstr(op, "f32"))
		kw_launch_add_count(m->now, KW_M_CODE_FADD_FMUL, 1);
}

static size_t word_length(struct kw_str s)
{
	size_t n = 0;

	while (n < s.len && (isalnum((unsigned char)s.ptr[n]) || s.ptr[n] == '.' || s.ptr[n] == '_' ||
			     s.ptr[n] == ':' || s.ptr[n] == '$'))
		n++;
	return n;
}

static double number_behind(struct kw_str line, const char *word)
{
	const char *at = memmem(line.ptr, line.len, word, strlen(word));
	double v = 0;
	struct kw_str s;

	if (!at)
		return -1;
	s = kw_str_trim((struct kw_str){ at + strlen(word), (size_t)(line.ptr + line.len - at) - strlen(word) });
	s.len = strspn(s.ptr, "0123456789") < s.len ? strspn(s.ptr, "0123456789") : s.len;
	return kw_str_to_f64(s, &v) ? v : -1;
}

/* .entry, .func, .maxntid, .loc, .reg and the like. */
static bool ptx_directive(struct machine *m, struct kw_str line)
{
	const char *entry = memmem(line.ptr, line.len, ".entry ", 7);
	double v;

	if (entry) {
		struct kw_str s = kw_str_trim((struct kw_str){ entry + 7, (size_t)(line.ptr + line.len - entry - 7) });

		s.len = word_length(s);
		start(m, s);
		return true;
	}
	if (*line.ptr != '.')
		return false;
	if (kw_str_starts(line, ".loc")) {
		struct kw_str rest = line, part;

		kw_str_split(&rest, '\t', &part);
		m->source_line = (int)strtol(line.ptr + 4 + strcspn(line.ptr + 4, " \t"), NULL, 10);
		/* .loc FILE LINE COLUMN */
		rest = kw_str_trim((struct kw_str){ line.ptr + 4, line.len - 4 });
		if (kw_str_split(&rest, ' ', &part) && rest.len)
			m->source_line = (int)strtol(rest.ptr, NULL, 10);
		return true;
	}
	if (m->now && (v = number_behind(line, ".maxntid")) > 0)
		kw_launch_set(m->now, KW_M_BOUND_THREADS, v);
	if (m->now && (v = number_behind(line, ".minnctapersm")) > 0)
		kw_launch_set(m->now, KW_M_BOUND_BLOCKS, v);
	if (m->now && kw_str_starts(line, ".param") && memmem(line.ptr, line.len, ".f64", 4))
		kw_launch_add_count(m->now, KW_M_CODE_DOUBLES, 1);
	return true;
}

void kw_read_ptx(const char *text, size_t len, struct kw_launches *out)
{
	struct machine m = { .out = out, .ptx = true };
	struct kw_str rest = { text, len }, line;

	out->form = "PTX";
	while (rest.ptr && kw_str_split(&rest, '\n', &line) && m.instructions < MAX_INSTRUCTIONS) {
		char op[MAX_OPCODE];
		size_t n;

		m.line++;
		line = kw_str_trim(line);
		if (line.len == 0 || kw_str_starts(line, "//") || ptx_directive(&m, line) || !m.now)
			continue;
		if (line.ptr[line.len - 1] == ':') {
			add_label(&m, (struct kw_str){ line.ptr, line.len - 1 });
			continue;
		}
		if (*line.ptr == '@') {
			while (line.len && *line.ptr != ' ' && *line.ptr != '\t')
				line = (struct kw_str){ line.ptr + 1, line.len - 1 };
			line = kw_str_trim(line);
		}
		n = word_length(line);
		if (n < 2 || n >= sizeof(op) || !islower((unsigned char)*line.ptr))
			continue;
		snprintf(op, sizeof(op), "%.*s", (int)n, line.ptr);
		m.instructions++;
		if (begins(op, "bra")) {
			struct kw_str t = kw_str_trim((struct kw_str){ line.ptr + n, line.len - n });

			t.len = strcspn(t.ptr, "; \t") < t.len ? strcspn(t.ptr, "; \t") : t.len;
			jump(&m, t);
			continue;
		}
		m.shuffles = m.shuffles || begins(op, "shfl") || begins(op, "redux");
		follow_stack(&m, op, line);
		if (begins(op, "call"))
			kw_launch_add_count(m.now, KW_M_CODE_CALLS, 1);
		ptx_opcode(&m, op, line);
	}
	end(&m);
	/* Line information that names a file of Python: what Triton's compiler wrote. */
	for (size_t i = 0; i < out->count && memmem(text, len, ".py\"", 4); i++)
		out->list[i]->value[KW_M_TRITON] = 1;
	if (out->count == 0)
		kw_launches_note(out, 0, "there is no .entry in this PTX");
}

/* ---- SASS ---- */

static void sass_memory(struct machine *m, const char *op, struct kw_str text)
{
	bool load = begins(op, "LDG");

	count(m, load ? KW_M_CODE_LD : KW_M_CODE_ST, text);
	if (strstr(op, ".128") || strstr(op, ".256"))
		kw_launch_add_count(m->now, load ? KW_M_CODE_LD_WIDE : KW_M_CODE_ST_WIDE, 1);
	if (load && (strstr(op, ".U16") || strstr(op, ".S16") || strstr(op, ".U8") || strstr(op, ".S8")))
		kw_launch_add_count(m->now, KW_M_CODE_LD_NARROW, 1);
}

static bool is_matrix(const char *op)
{
	static const char *const words[] = { "HMMA",  "IMMA",  "DMMA",	  "BMMA",    "QMMA",	"OMMA",	  "HGMMA",
					     "IGMMA", "QGMMA", "UTCHMMA", "UTCQMMA", "UTCIMMA", "UTCOMMA" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (begins(op, words[i]))
			return true;
	return false;
}

/* Spilled registers, and what is handed to or saved for a call, lie at fixed distances from the stack pointer: [R1], [R1+0x4]. What is addressed otherwise is an
 * array. */
static void sass_local(struct machine *m, struct kw_str text)
{
	const char *at = memmem(text.ptr, text.len, "[R1", 3), *end = text.ptr + text.len;
	bool fixed = at && at + 3 < end && (at[3] == ']' || at[3] == '+' || at[3] == '-');

	for (at = fixed ? at + 3 : end; at < end && *at != ']'; at++)
		fixed = fixed && *at != 'R';
	count(m, KW_M_CODE_LOCAL, text);
	kw_launch_add_count(m->now, fixed ? KW_M_CODE_LOCAL_FIXED : KW_M_CODE_LOCAL_INDEXED, 1);
}

static void sass_opcode(struct machine *m, const char *op, struct kw_str text)
{
	kw_launch_add_count(m->now, KW_M_CODE_INST, 1);
	if (begins(op, "LDG") && !begins(op, "LDGSTS") && !begins(op, "LDGDEPBAR"))
		sass_memory(m, op, text);
	else if (begins(op, "STG"))
		sass_memory(m, op, text);
	else if (begins(op, "LDGSTS") || begins(op, "UTMALDG") || begins(op, "UBLKCP"))
		kw_launch_add_count(m->now, KW_M_CODE_ASYNC, 1);
	else if (begins(op, "LDL") || begins(op, "STL"))
		sass_local(m, text);
	else if (begins(op, "LDS") || begins(op, "STS"))
		kw_launch_add_count(m->now, KW_M_CODE_SMEM, 1);
	else if (begins(op, "BAR.") || begins(op, "SYNCS"))
		count(m, KW_M_CODE_BARRIER, text);
	else if (begins(op, "ATOMS"))
		count(m, KW_M_CODE_ATOMIC_SHARED, text);
	else if (begins(op, "ATOMG") || begins(op, "ATOM.") || begins(op, "RED.") || begins(op, "REDG"))
		count(m, KW_M_CODE_ATOMIC_GLOBAL, text);
	else if (begins(op, "MUFU.RCP") && !begins(op, "MUFU.RCP64"))
		count(m, KW_M_CODE_MUFU_RCP, text);
	else if (is_matrix(op))
		kw_launch_add_count(m->now, KW_M_CODE_MATRIX, 1);
	else if (begins(op, "FFMA"))
		kw_launch_add_count(m->now, KW_M_CODE_FMA, 1);
	else if (begins(op, "FADD") || begins(op, "FMUL"))
		kw_launch_add_count(m->now, KW_M_CODE_FADD_FMUL, 1);
	if (strstr(op, "F64") && strchr(op, '.'))
		count(m, KW_M_CODE_FP64_CONVERT, text);
	if (begins(op, "DADD") || begins(op, "DMUL") || begins(op, "DFMA") || begins(op, "DSETP") ||
	    begins(op, "DMNMX") || (strstr(op, "F64") && strchr(op, '.')))
		count(m, KW_M_CODE_FP64, text);
}

/* Where a function's code begins, in the forms of nvdisasm and cuobjdump. */
static bool sass_function(struct machine *m, struct kw_str line)
{
	const char *at = memmem(line.ptr, line.len, " .text.", 7);
	struct kw_str name;

	if (at && kw_str_starts(line, "//---"))
		name = (struct kw_str){ at + 7, (size_t)(line.ptr + line.len - at - 7) };
	else if (kw_str_starts(line, "Function : "))
		name = (struct kw_str){ line.ptr + 11, line.len - 11 };
	else
		return false;
	name.len = word_length(name);
	start(m, name);
	return true;
}

/* "//## File "k.cu", line 12": of -lineinfo */
static bool sass_place(struct machine *m, struct kw_str line)
{
	const char *at = kw_str_starts(line, "//##") ? memmem(line.ptr, line.len, ", line ", 7) : NULL;

	if (at)
		m->source_line = (int)strtol(at + 7, NULL, 10);
	return at || kw_str_starts(line, "//##");
}

/* Behind the address and the guard; false: no instruction. *address: of the line, -1 where it has none. */
static bool sass_text(struct kw_str *line, long *address)
{
	*address = -1;
	if (kw_str_starts(*line, "/*")) {
		const char *end = memmem(line->ptr, line->len, "*/", 2);

		if (!end)
			return false;
		*address = strtol(line->ptr + 2, NULL, 16);
		*line = kw_str_trim((struct kw_str){ end + 2, (size_t)(line->ptr + line->len - end - 2) });
	}
	if (line->len && *line->ptr == '{')
		*line = kw_str_trim((struct kw_str){ line->ptr + 1, line->len - 1 });
	if (line->len && *line->ptr == '@') {
		while (line->len && *line->ptr != ' ' && *line->ptr != '\t')
			*line = (struct kw_str){ line->ptr + 1, line->len - 1 };
		*line = kw_str_trim(*line);
	}
	/* "Fatbin elf code:" is no opcode: those have small letters only behind a point (HGMMA.64x64x16). */
	return line->len > 2 && isupper((unsigned char)*line->ptr) && !islower((unsigned char)line->ptr[1]);
}

/* BRA `(.L_x_3) or BRA 0x1a0. Addresses are labels too. */
static void sass_jump(struct machine *m, struct kw_str line, long address)
{
	const char *name = memmem(line.ptr, line.len, ".L_", 3), *hex = memmem(line.ptr, line.len, "0x", 2);

	if (name) {
		struct kw_str s = { name, (size_t)(line.ptr + line.len - name) };

		s.len = word_length(s);
		jump(m, s);
	} else if (hex && address >= 0 && strtol(hex, NULL, 16) < address) {
		char text[24];

		snprintf(text, sizeof(text), "@%lx", strtoul(hex, NULL, 16));
		jump(m, kw_str_from(text));
	}
}

void kw_read_sass(const char *text, size_t len, struct kw_launches *out)
{
	struct machine m = { .out = out };
	struct kw_str rest = { text, len }, line;

	out->form = "SASS";
	while (rest.ptr && kw_str_split(&rest, '\n', &line) && m.instructions < MAX_INSTRUCTIONS) {
		char op[MAX_OPCODE], here[24];
		long address;
		size_t n;

		m.line++;
		line = kw_str_trim(line);
		if (line.len == 0 || sass_function(&m, line) || sass_place(&m, line))
			continue;
		if (line.ptr[line.len - 1] == ':' && *line.ptr == '.') {
			if (m.now)
				add_label(&m, (struct kw_str){ line.ptr, line.len - 1 });
			continue;
		}
		if (!sass_text(&line, &address))
			continue;
		n = word_length(line);
		if (n < 3 || n >= sizeof(op))
			continue;
		snprintf(op, sizeof(op), "%.*s", (int)n, line.ptr);
		if (!m.now)
			start(&m, KW_STR("the listing"));
		if (!m.now)
			return;
		if (address >= 0 && m.label_count < MAX_LABELS) {
			snprintf(here, sizeof(here), "@%lx", (unsigned long)address);
			add_label(&m, kw_str_from(here));
		}
		m.instructions++;
		if (begins(op, "NOP"))
			continue;
		if (begins(op, "BRA") || begins(op, "JMP"))
			sass_jump(&m, line, address);
		m.shuffles = m.shuffles || begins(op, "SHFL") || begins(op, "REDUX");
		/* The slow path of a division is a call too, within the kernel. */
		if (begins(op, "CALL.ABS") || (begins(op, "CALL") && memchr(line.ptr, '`', line.len) && !memmem(line.ptr, line.len, "$__internal", 11)))
			kw_launch_add_count(m.now, KW_M_CODE_CALLS, 1);
		sass_opcode(&m, op, line);
	}
	end(&m);
	if (out->count == 0)
		kw_launches_note(out, 0, "there is no instruction in this listing");
}
