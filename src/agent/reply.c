#include "agent/reply.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

enum { BLOCKS_MAX = 256, NESTING_MAX = 4, FENCE_MIN = 3, NAME_MAX_BYTES = 128 };

static const struct {
	const char *name, *text;
} kinds[] = {
#define X(e, name, text) { name, text },
	KW_REPLY_LIST(X)
#undef X
};

const char *kw_reply_name(enum kw_reply_kind k)
{
	return (unsigned)k < KW_REPLY_COUNT ? kinds[k].name : "unknown";
}

const char *kw_reply_text(enum kw_reply_kind k)
{
	return (unsigned)k < KW_REPLY_COUNT ? kinds[k].text : "unknown";
}

/* ---- fences ---- */

struct block {
	struct kw_str text, info;
	size_t indent;                    /* blanks in front of its fence, which stand in front of its lines too */
	bool closed;
};
struct blocks {
	struct block at[BLOCKS_MAX];
	size_t count;
};

/* How many of one fence character a line begins with (0: no fence); the rest of the line is the info. */
static size_t fence_of(struct kw_str line, char *mark, struct kw_str *info)
{
	size_t i = 0, n = 0;

	while (i < line.len && (line.ptr[i] == ' ' || line.ptr[i] == '\t'))
		i++;
	if (i == line.len || (line.ptr[i] != '`' && line.ptr[i] != '~'))
		return 0;
	*mark = line.ptr[i];
	while (i + n < line.len && line.ptr[i + n] == *mark)
		n++;
	*info = kw_str_trim((struct kw_str){ line.ptr + i + n, line.len - i - n });
	/* ```x``` on one line is no fence. */
	if (n < FENCE_MIN || (*mark == '`' && info->len && memchr(info->ptr, '`', info->len)))
		return 0;
	return n;
}

static void find_blocks(struct kw_str text, int nesting, struct blocks *out);

/* A block of prose that shows fences of its own (```` around ```) is opened. */
static void add_block(struct kw_str body, struct kw_str info, size_t indent, bool closed, int nesting, struct blocks *out)
{
	size_t before = out->count;

	if (nesting < NESTING_MAX && (memmem(body.ptr, body.len, "```", 3) || memmem(body.ptr, body.len, "~~~", 3)))
		find_blocks(body, nesting + 1, out);
	if (out->count == before && out->count < BLOCKS_MAX)
		out->at[out->count++] = (struct block){ body, info, indent, closed };
}

/* Where a block begins whose fence is this line: behind it, or at a plan line that stands in it. */
static const char *begins(struct kw_str line, struct kw_str info, const char *end)
{
	const char *at = memmem(info.ptr, info.len, "//@ ", 4);

	if (!at)
		at = memmem(info.ptr, info.len, "#@ ", 3);
	return at ? at : line.ptr + line.len + (line.ptr + line.len < end);
}

/* The last fence is missing, or stands behind the last line of code instead of below it. */
static bool ends_in_a_line(struct kw_str *body)
{
	struct kw_str rest = *body, line;

	while (rest.len && kw_str_split(&rest, '\n', &line)) {
		line = kw_str_trim(line);
		if (line.len > FENCE_MIN && memcmp(line.ptr + line.len - FENCE_MIN, "```", FENCE_MIN) == 0) {
			body->len = (size_t)(line.ptr + line.len - FENCE_MIN - body->ptr);
			return true;
		}
	}
	return false;
}

static void find_blocks(struct kw_str text, int nesting, struct blocks *out)
{
	struct kw_str rest = text, line, info = { "", 0 }, opened_info = { "", 0 };
	const char *start = NULL;
	size_t open = 0, indent = 0;
	char mark = 0, opened = 0;

	while (rest.len && kw_str_split(&rest, '\n', &line)) {
		size_t n = fence_of(line, &mark, &info);

		if (!open && n) {
			open = n;
			opened = mark;
			opened_info = info;
			indent = (size_t)((const char *)memchr(line.ptr, mark, line.len) - line.ptr);
			start = begins(line, info, text.ptr + text.len);
		} else if (open && n >= open && mark == opened && info.len == 0) {
			add_block((struct kw_str){ start, (size_t)(line.ptr - start) }, opened_info, indent, true, nesting, out);
			open = 0;
		}
	}
	if (open) {
		struct kw_str body = { start, (size_t)(text.ptr + text.len - start) };
		bool closed = ends_in_a_line(&body);

		add_block(body, opened_info, indent, closed, nesting, out);
	}
}

/* ---- thinking ---- */

static const char *const think_tags[] = { "think", "thinking", "thought", "reasoning", "seed:think", "analysis", "scratchpad" };

/* The tag at p: 1 an opening one, -1 a closing one, 0 none; its length. */
static int tag_at(const char *p, const char *end, size_t *len)
{
	for (size_t i = 0; i < sizeof(think_tags) / sizeof(think_tags[0]); i++) {
		char tag[2][24];

		snprintf(tag[0], sizeof(tag[0]), "<%s>", think_tags[i]);
		snprintf(tag[1], sizeof(tag[1]), "</%s>", think_tags[i]);
		for (int k = 0; k < 2; k++) {
			*len = strlen(tag[k]);
			if ((size_t)(end - p) >= *len && strncasecmp(p, tag[k], *len) == 0)
				return k ? -1 : 1;
		}
	}
	return 0;
}

/* In quotes or backticks: the model talks about the tag. */
static bool quoted(struct kw_str text, const char *p, size_t len)
{
	const char *end = text.ptr + text.len;

	return p > text.ptr && p + len < end && p[-1] == p[len] && strchr("`'\"", p[-1]) != NULL;
}

/* Where reasoning ends: behind the last closing tag that is neither quoted nor in a fence of the answer. */
struct kw_str kw_reply_without_thinking(struct kw_str text, bool *open)
{
	const char *end = text.ptr + text.len, *cut = NULL, *line = text.ptr;
	bool opened = false, in_fence = false;
	char mark = 0, opened_mark = 0;
	size_t len = 0, fence = 0;

	for (const char *p = text.ptr; p < end; p++) {
		if (cut && (p == line || p[-1] == '\n')) {
			const char *stop = memchr(p, '\n', (size_t)(end - p));
			struct kw_str info, one = { p, (size_t)((stop ? stop : end) - p) };
			size_t n = fence_of(one, &mark, &info);

			if (!in_fence && n) {
				in_fence = true;
				fence = n;
				opened_mark = mark;
			} else if (in_fence && n >= fence && mark == opened_mark && !info.len) {
				in_fence = false;
			}
		}
		if (*p != '<')
			continue;
		switch (tag_at(p, end, &len)) {
		case 1:
			opened = opened || (!cut && kw_str_trim((struct kw_str){ text.ptr, (size_t)(p - text.ptr) }).len == 0);
			break;
		case -1:
			if (!quoted(text, p, len) && !in_fence)
				cut = line = p + len;
			break;
		default:
			break;
		}
	}
	*open = opened && !cut;
	return cut ? (struct kw_str){ cut, (size_t)(end - cut) } : text;
}

/* ---- what a block defines ---- */

static bool word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* NAME followed by a bracket, in front of which something stands: `void NAME(`. */
static bool defines(struct kw_str text, const char *name, size_t len)
{
	const char *p = text.ptr, *end = text.ptr + text.len;

	while (p < end && (p = memmem(p, (size_t)(end - p), name, len))) {
		const char *after = p + len, *line = p;

		while (line > text.ptr && line[-1] != '\n')
			line--;
		while (after < end && (*after == ' ' || *after == '\t' || *after == '\n'))
			after++;
		if ((p == text.ptr || !word_char(p[-1])) && after < end && *after == '(' && *line != '/' && *line != '#')
			return true;
		p += len;
	}
	return false;
}

/* The kernel's name in a plan line, or false. */
static bool kernel_line(struct kw_str line, const char *marker, struct kw_str *name)
{
	size_t n = strlen(marker);

	line = kw_str_trim(line);
	if (!kw_str_starts(line, marker))
		return false;
	line = kw_str_trim((struct kw_str){ line.ptr + n, line.len - n });
	if (line.len < 7 || strncmp(line.ptr, "kernel", 6) != 0 || word_char(line.ptr[6]))
		return false;
	line = kw_str_trim((struct kw_str){ line.ptr + 6, line.len - 6 });
	for (n = 0; n < line.len && word_char(line.ptr[n]); n++)
		;
	*name = (struct kw_str){ line.ptr, n };
	return n > 0;
}

static bool has_plan_line(struct kw_str text, const char *marker)
{
	struct kw_str line, name;

	while (text.len && kw_str_split(&text, '\n', &line))
		if (kernel_line(line, marker, &name))
			return true;
	return false;
}

/* Every kernel that its plan names is defined in it. */
static bool is_candidate(const struct kw_reply_want *w, struct kw_str text)
{
	struct kw_str rest = text, line, name;
	bool any = false;

	if (w->any_block)
		return true;
	if (w->entry)
		return memmem(text.ptr, text.len, w->entry, strlen(w->entry)) != NULL;
	while (rest.len && kw_str_split(&rest, '\n', &line))
		if (kernel_line(line, w->marker, &name)) {
			if (name.len >= NAME_MAX_BYTES || !defines(text, name.ptr, name.len))
				return false;
			any = true;
		}
	return any;
}

/* Brackets that are not closed, outside of strings and comments: the text was cut off. */
static bool unbalanced(struct kw_str text)
{
	int depth = 0;

	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i], next = i + 1 < text.len ? text.ptr[i + 1] : 0;

		if (c == '/' && next == '/') {
			while (i < text.len && text.ptr[i] != '\n')
				i++;
		} else if (c == '/' && next == '*') {
			const char *stop = memmem(text.ptr + i + 2, text.len - i - 2, "*/", 2);

			if (!stop)
				return true;
			i = (size_t)(stop - text.ptr) + 1;
		} else if (c == '"' || c == '\'') {
			size_t k = i + 1;

			while (k < text.len && text.ptr[k] != c && text.ptr[k] != '\n')
				k += text.ptr[k] == '\\' ? 2 : 1;
			i = k;
		} else if (c == '{' || c == '(') {
			depth++;
		} else if (c == '}' || c == ')') {
			depth--;
		}
	}
	return depth > 0;
}

/* ---- no fence ---- */

static bool begins_code(struct kw_str line, const char *marker)
{
	static const char *const words[] = { "#include", "#define", "#pragma", "#if", "//", "/*", "extern ", "static ",
					     "void ", "inline ", "__global__", "__kernel", "kernel void", "typedef ",
					     "template", "import ", "from ", "@triton", "def " };

	if (marker && kw_str_starts(line, marker))
		return true;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (kw_str_starts(line, words[i]))
			return true;
	return false;
}

/* Whether a line can be the last of a source: of prose behind it the lines end otherwise. */
static bool ends_code(struct kw_str line, const char *marker)
{
	bool python = marker && marker[0] == '#';

	if (begins_code(line, marker))
		return true;
	if (python)
		return line.len && (line.ptr[0] == ' ' || line.ptr[0] == '\t');
	line = kw_str_trim(line);
	return line.len && (strchr("};\\", line.ptr[line.len - 1]) || (line.len > 1 && memcmp(line.ptr + line.len - 2, "*/", 2) == 0));
}

/* Of a block without an end: up to the last line that can be code. */
static struct kw_str without_prose(struct kw_str text, const char *marker)
{
	struct kw_str rest = text, line;
	const char *end = text.ptr;

	while (rest.len && kw_str_split(&rest, '\n', &line))
		if (ends_code(line, marker))
			end = line.ptr + line.len;
	return (struct kw_str){ text.ptr, (size_t)(end - text.ptr) };
}

/* From the first line that looks like code to the last that can end some. */
static struct kw_str bare_code(struct kw_str text, const char *marker)
{
	struct kw_str rest = text, line;
	const char *start = NULL, *end = NULL;

	while (rest.len && kw_str_split(&rest, '\n', &line)) {
		if (!start && begins_code(line, marker))
			start = line.ptr;
		if (start && ends_code(line, marker))
			end = line.ptr + line.len;
	}
	return start ? (struct kw_str){ start, (size_t)(end - start) } : (struct kw_str){ "", 0 };
}

/* ---- the answer ---- */

__attribute__((format(printf, 3, 4))) static void no_use(struct kw_reply *out, enum kw_reply_kind kind, const char *fmt, ...)
{
	va_list ap;

	out->kind = kind;
	va_start(ap, fmt);
	vsnprintf(out->why, sizeof(out->why), fmt, ap);
	va_end(ap);
}

/* A comment instead of code, "... rest of the kernel unchanged ...": what it leaves out would be missing. */
static bool leaves_out(struct kw_str text, struct kw_str *where)
{
	static const char *const words[] = { "rest of", "unchanged", "existing code", "same as", "as before", "remains" };
	struct kw_str line;

	while (text.len && kw_str_split(&text, '\n', &line)) {
		line = *where = kw_str_trim(line);
		if (!kw_str_starts(line, "//") && !kw_str_starts(line, "/*") && !kw_str_starts(line, "#"))
			continue;
		while (line.len && strchr("/*#( \t", line.ptr[0]))
			line = (struct kw_str){ line.ptr + 1, line.len - 1 };
		if (!kw_str_starts(line, "...") && !kw_str_starts(line, "\xe2\x80\xa6")) /* an ellipsis within a sentence is one */
			continue;
		for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
			if (memmem(line.ptr, line.len, words[i], strlen(words[i])))
				return true;
	}
	return false;
}

/* As many blanks away from each line as stand in front of the fence. */
static struct kw_str undented(struct kw_str text, size_t indent, struct kw_arena *a)
{
	char *out = indent ? kw_arena_alloc(a, text.len + 1) : NULL;
	size_t n = 0, column = 0;

	for (size_t i = 0; out && i < text.len; i++) {
		char c = text.ptr[i];

		if (column < indent && (c == ' ' || c == '\t')) {
			column++;
			continue;
		}
		column = c == '\n' ? 0 : indent;
		out[n++] = c;
	}
	return out ? (struct kw_str){ out, n } : text;
}

static void take(struct kw_reply *out, struct kw_str text, struct kw_arena *a)
{
	struct kw_str where;

	text = kw_reply_entities(text, a);
	if (leaves_out(text, &where)) {
		no_use(out, KW_REPLY_BAD_EDIT, "the code leaves parts out ('" KW_STR_FMT "'); write the whole file, or edits",
		       (int)(where.len < 80 ? where.len : 80), where.ptr);
		return;
	}
	out->source = kw_arena_printf(a, KW_STR_FMT "%s", KW_STR_ARG(text),
				      text.len && text.ptr[text.len - 1] == '\n' ? "" : "\n");
	out->len = out->source ? strlen(out->source) : 0;
	out->kind = KW_REPLY_SOURCE;
	if (!out->source)
		no_use(out, KW_REPLY_TOO_LARGE, "the answer does not fit into memory");
}

static bool refuses(struct kw_str text)
{
	static const char *const words[] = { "i'm sorry", "i\xe2\x80\x99m sorry", "i am sorry", "i can't help", "i cannot help",
					     "i can't assist", "i cannot assist", "i'm unable", "i am unable", "i won't",
					     "i can\xe2\x80\x99t", "i must decline", "as an ai" };

	text.len = text.len < 400 ? text.len : 400;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		for (size_t k = 0; k + strlen(words[i]) <= text.len; k++)
			if (strncasecmp(text.ptr + k, words[i], strlen(words[i])) == 0)
				return true;
	return false;
}

/* What the model's end alone says. */
static bool told_by_finish(enum kw_finish finish, struct kw_reply *out)
{
	switch (finish) {
	case KW_FINISH_REFUSED:
		no_use(out, KW_REPLY_REFUSED, "the model refused to answer");
		return true;
	case KW_FINISH_TOOL:
		no_use(out, KW_REPLY_TOOL, "the answer asks for a tool; there are none: write the kernel itself");
		return true;
	case KW_FINISH_TOO_LONG:
		no_use(out, KW_REPLY_TOO_LONG, "the prompt does not fit the model's context");
		return true;
	case KW_FINISH_CUT:
		no_use(out, KW_REPLY_TRUNCATED, "the run's time was over in the middle of the answer");
		return true;
	case KW_FINISH_OVERFLOW:
		no_use(out, KW_REPLY_TOO_LARGE, "the answer has more than %zu MiB; write one kernel", KW_ANSWER_MAX_BYTES >> 20);
		return true;
	default:
		return false;
	}
}

/* No block will do: the sentence that helps most. */
static void explain(const struct kw_reply_want *w, const struct blocks *b, enum kw_finish finish, struct kw_reply *out)
{
	const struct block *last = &b->at[b->count - 1];
	bool planned = false;

	if (!last->closed && (finish == KW_FINISH_LENGTH || unbalanced(last->text))) {
		no_use(out, KW_REPLY_TRUNCATED, "the answer ends in the middle of its code; make it shorter");
		return;
	}
	for (size_t i = 0; i < b->count; i++)
		planned = planned || has_plan_line(b->at[i].text, w->marker ? w->marker : "//@");
	if (w->entry)
		no_use(out, KW_REPLY_NO_ENTRY, "no block of code holds '%.100s'", w->entry);
	else if (planned)
		no_use(out, KW_REPLY_NO_ENTRY, "a block has a `%s kernel NAME` line, but the function NAME is not defined in "
		       "the same block", w->marker);
	else
		no_use(out, KW_REPLY_NO_ENTRY, "no block of code (of %zu, the last marked '" KW_STR_FMT "') has a `%s "
		       "kernel NAME ...` line, which says how the kernel is called; write %s", b->count,
		       (int)(last->info.len < 20 ? last->info.len : 20), last->info.ptr, w->marker,
		       w->language ? w->language : "the kernel's source");
}

/* A part of edits: it shows lines of a kernel, but is none. */
static bool is_edit(const struct block *b)
{
	struct kw_str rest = b->text, line;

	if (kw_str_starts(b->info, "diff") || kw_str_starts(b->info, "patch"))
		return true;
	while (rest.len && kw_str_split(&rest, '\n', &line))
		if (kw_str_starts(line, "<<<<<<<") || kw_str_starts(line, "@@ "))
			return true;
	return false;
}

static bool from_blocks(const struct kw_reply_want *w, const struct blocks *b, enum kw_finish finish, struct kw_arena *a,
			struct kw_reply *out)
{
	for (size_t i = b->count; i-- > 0;) {
		const struct block *k = &b->at[i];

		if (is_edit(k) || !is_candidate(w, k->text))
			continue;
		if (!k->closed && (finish == KW_FINISH_LENGTH || unbalanced(k->text)))
			no_use(out, KW_REPLY_TRUNCATED, "the answer ends in the middle of its code; make it shorter");
		else
			take(out, undented(k->closed || w->any_block || w->entry ? k->text : without_prose(k->text, w->marker), k->indent, a), a);
		return true;
	}
	return false;
}

static bool from_edits(const struct kw_reply_want *w, struct kw_str text, struct kw_arena *a, struct kw_reply *out)
{
	struct kw_error err;
	enum kw_status status;

	if (!w->parent)
		return false;
	kw_error_reset(&err);
	status = kw_edits_apply(w->parent, text, a, &out->source, &out->len, &err);
	if (status == KW_NO)
		return false;
	if (status != KW_OK) {
		no_use(out, KW_REPLY_BAD_EDIT, "%.500s", err.text);
		return true;
	}
	out->kind = KW_REPLY_SOURCE;
	out->edited = true;
	return true;
}

struct inner {
	const struct kw_reply_want *want;
	struct kw_arena *arena;
	struct kw_reply *out;
};

/* A string of an answer in JSON, read as an answer. */
static bool read_string(void *arg, struct kw_str text)
{
	struct inner *in = arg;
	struct kw_reply r;

	if (!memmem(text.ptr, text.len, in->want->marker, strlen(in->want->marker)))
		return false;
	kw_reply_read(in->want, text.ptr, text.len, KW_FINISH_STOP, in->arena, &r);
	if (r.kind == KW_REPLY_SOURCE)
		*in->out = r;
	return r.kind == KW_REPLY_SOURCE;
}

static bool from_wrapped(const struct kw_reply_want *w, struct kw_str text, struct kw_arena *a, struct kw_reply *out)
{
	struct inner in = { w, a, out };
	struct kw_str code;

	if (w->any_block || w->entry || !w->marker)
		return false;
	if (kw_reply_json(text, read_string, &in))
		return true;
	if (!kw_reply_html(text, &code))
		return false;
	code = kw_reply_entities(code, a);
	if (!is_candidate(w, code) || unbalanced(code))
		return false;
	take(out, code, a);
	return true;
}

/* A task file without a fence: from the line of its name on. */
static bool begins_task(struct kw_str *text)
{
	struct kw_str rest = *text, line;

	while (rest.len && kw_str_split(&rest, '\n', &line))
		if (kw_str_starts(line, "name:")) {
			*text = (struct kw_str){ line.ptr, (size_t)(text->ptr + text->len - line.ptr) };
			return true;
		}
	return false;
}

static void without_fence(const struct kw_reply_want *w, struct kw_str text, enum kw_finish finish, struct kw_arena *a,
			  struct kw_reply *out)
{
	struct kw_str code = bare_code(text, w->marker), task = text, line;

	if (code.len && is_candidate(w, code) && !w->any_block) {
		if (finish == KW_FINISH_LENGTH || unbalanced(code))
			no_use(out, KW_REPLY_TRUNCATED, "the answer ends in the middle of its code; make it shorter");
		else
			take(out, code, a);
	} else if (w->entry && begins_task(&task) && memmem(task.ptr, task.len, w->entry, strlen(w->entry))) {
		take(out, task, a);
	} else if (refuses(text)) {
		kw_str_split(&text, '\n', &line);
		no_use(out, KW_REPLY_REFUSED, "the model refused: " KW_STR_FMT, line.len < 200 ? (int)line.len : 200, line.ptr);
	} else if (finish == KW_FINISH_LENGTH) {
		no_use(out, KW_REPLY_TRUNCATED, "the limit of tokens was reached before there was any code; be brief");
	} else {
		no_use(out, KW_REPLY_NO_CODE, "there is no block of code in the answer");
	}
}

void kw_reply_read(const struct kw_reply_want *want, const char *text, size_t len, enum kw_finish finish,
		   struct kw_arena *a, struct kw_reply *out)
{
	struct blocks *b;
	struct kw_str whole, rest;
	bool thinking, had_code;

	*out = (struct kw_reply){ .kind = KW_REPLY_NO_CODE };
	if (told_by_finish(finish, out))
		return;
	whole = kw_reply_plain((struct kw_str){ text, len }, a);
	rest = kw_reply_without_thinking(whole, &thinking);
	had_code = rest.ptr != whole.ptr && memmem(whole.ptr, (size_t)(rest.ptr - whole.ptr), "```", 3);
	rest = kw_str_trim(rest);
	if (thinking) {
		no_use(out, KW_REPLY_THINKING, "the answer ends inside its reasoning; think less, and write the kernel");
		return;
	}
	if (rest.len == 0) {
		no_use(out, had_code ? KW_REPLY_DRAFT : finish == KW_FINISH_LENGTH ? KW_REPLY_THINKING : KW_REPLY_EMPTY,
		       had_code ? "the only code is inside the reasoning; repeat it as the answer"
		       : finish == KW_FINISH_LENGTH ? "all tokens were spent before the answer; think less" : "the answer is empty");
		return;
	}
	b = kw_calloc(1, sizeof(*b));
	if (!b) {
		no_use(out, KW_REPLY_TOO_LARGE, "the answer does not fit into memory");
		return;
	}
	find_blocks(rest, 0, b);
	if (!from_blocks(want, b, finish, a, out) && !from_edits(want, rest, a, out) && !from_wrapped(want, rest, a, out)) {
		if (b->count)
			explain(want, b, finish, out);
		else if (had_code)
			no_use(out, KW_REPLY_DRAFT, "the only code is inside the reasoning; repeat it as the answer");
		else
			without_fence(want, rest, finish, a, out);
	}
	kw_free(b);
}
