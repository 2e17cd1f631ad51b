/* What NVRTC, nvcc and ptxas print, as data. The forms, from CUDA 13.0:
 *
 *     candidate.cu(3): error: identifier "z" is undefined
 *       x[0] = z;
 *              ^
 *               detected during instantiation of "void g(T) [with T=int]" at line 5 of candidate.cu
 *     ptxas error   : Entry function 'k' uses too much shared data (0xe810 bytes, 0xc000 max)
 *     ptxas application ptx input, line 34; error   : Instruction 'wgmma.fence' not supported on
 * .target 'sm_90' ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored; … ptxas
 * info    : Function properties for k ptxas         .     0 bytes stack frame, 8 bytes spill
 * stores, 4 bytes spill loads ptxas info    : Used 17 registers, used 1 barriers, 1024 bytes smem
 */
#include "backend/cuda.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_LINE = 2048, INDENT = 2 /* of a quoted line and its caret */ };

/* The first phrase that is found decides. */
static const struct {
	const char *phrase;
	enum kw_subclass cls;
} phrases[] = {
	{ "cannot open source file", KW_S_INCLUDE },
	{ "could not open source file", KW_S_INCLUDE },
	{ "No such file or directory", KW_S_INCLUDE },
	{ "not supported on .target", KW_S_BUILD_ARCHITECTURE },
	{ "requires .target", KW_S_BUILD_ARCHITECTURE },
	{ "requires PTX ISA", KW_S_BUILD_ARCHITECTURE },
	{ "cannot be compiled with architecture", KW_S_BUILD_ARCHITECTURE },
	{ "is not supported on", KW_S_BUILD_ARCHITECTURE },
	{ "too much", KW_S_BUILD_RESOURCES },
	{ "space overflowed", KW_S_BUILD_RESOURCES },
	{ "excessive recursion", KW_S_BUILD_RESOURCES },
	{ "recursion depth", KW_S_BUILD_RESOURCES },
	{ "out of memory", KW_S_BUILD_RESOURCES },
	{ "Memory allocation failure", KW_S_BUILD_RESOURCES },
	{ "too large", KW_S_BUILD_RESOURCES },
	{ "Unresolved extern", KW_S_UNDEFINED },
	{ "is undefined", KW_S_UNDEFINED },
	{ "Unknown symbol", KW_S_UNDEFINED },
	{ "is not a template", KW_S_UNDEFINED },
	{ "name followed by \"::\"", KW_S_UNDEFINED },
	{ "runtime APIs are not declared", KW_S_SYNTAX },
	{ "not allowed in JIT mode", KW_S_SYNTAX },
	{ "expected a", KW_S_SYNTAX },
	{ "expected either", KW_S_SYNTAX },
	{ "unrecognized", KW_S_SYNTAX },
	{ "Parsing error", KW_S_SYNTAX },
	{ "syntax error", KW_S_SYNTAX },
	{ "Not a name of any known instruction", KW_S_SYNTAX },
	{ "Unknown modifier", KW_S_SYNTAX },
	{ "#error", KW_S_SYNTAX },
	{ "#endif", KW_S_SYNTAX },
	{ "directive", KW_S_SYNTAX },
	{ "missing closing quote", KW_S_SYNTAX },
	{ "end of file", KW_S_SYNTAX },
	{ "storage class or type specifier", KW_S_SYNTAX },
	{ "invalid preprocessing", KW_S_SYNTAX },
	{ "extra text after", KW_S_SYNTAX },
};

enum kw_subclass kw_cuda_message_class(const char *message)
{
	for (size_t i = 0; i < sizeof(phrases) / sizeof(phrases[0]); i++)
		if (strstr(message, phrases[i].phrase))
			return phrases[i].cls;
	return KW_S_TYPE; /* what a compiler says of a program that parses */
}

/* A message waits for its caret and its context before it is kept. */
struct reader {
	struct kw_diagnostics *d;
	const char *source;
	const struct kw_cuda_toolkit *kit; /* NULL: every file may be quoted */
	struct kw_cuda_usage *usage;
	size_t usage_count, usage_max;
	bool pending;
	struct kw_diagnostic now;
};

static void flush(struct reader *r)
{
	if (r->pending)
		kw_diagnostics_add(r->d, r->now.severity, r->now.cls, r->now.file, r->now.line,
				   r->now.column, r->now.message);
	r->pending = false;
}

/* The candidate, or a header of the toolkit (which is named by its path). */
static bool is_ours(const struct reader *r, const char *file)
{
	if (!r->kit || file[0] != '/')
		return true;
	for (size_t i = 0; i < 2; i++) {
		size_t n = strlen(r->kit->include[i]);

		if (n && strncmp(file, r->kit->include[i], n) == 0 && file[n] == '/' && !strstr(file, "/../"))
			return true;
	}
	return false;
}

static void begin(struct reader *r, enum kw_severity severity, const char *file, int line,
		  const char *message)
{
	flush(r);
	if (!is_ours(r, file)) {
		severity = KW_ERROR;
		message = "this file is not the toolkit's: cannot open source file";
	}
	r->now = (struct kw_diagnostic){ .severity = severity,
					 .cls = kw_cuda_message_class(message),
					 .line = line };
	snprintf(r->now.file, sizeof(r->now.file), "%s", file);
	snprintf(r->now.message, sizeof(r->now.message), "%s", message);
	r->pending = true;
}

/* ---- places ---- */

static bool in_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Line and column of the first use of a word; 0 when it is not there. */
static void find_word(const char *source, const char *word, int *line, int *column)
{
	size_t n = strlen(word);

	*line = *column = 0;
	for (const char *at = source && n ? strstr(source, word) : NULL; at;
	     at = strstr(at + 1, word)) {
		const char *start = source;

		if ((at > source && in_word(*word) && in_word(at[-1])) || in_word(at[n]))
			continue;
		*line = 1;
		for (const char *p = source; p < at; p++)
			if (*p == '\n') {
				(*line)++;
				start = p + 1;
			}
		*column = (int)(at - start) + 1;
		return;
	}
}

/* ptxas names no line of the source, but quotes what it means: 'wgmma.fence' */
static void place_by_quote(struct reader *r)
{
	const char *open = strchr(r->now.message, '\''),
		   *close = open ? strchr(open + 1, '\'') : NULL;
	char word[128];
	size_t n;

	if (!close || (size_t)(close - open) > sizeof(word))
		return;
	n = (size_t)(close - open - 1);
	memcpy(word, open + 1, n);
	word[n] = '\0';
	word[strcspn(word, " ")] = '\0';
	find_word(r->source, word, &r->now.line, &r->now.column);
}

/* ---- lines ---- */

/* "error: …", "catastrophic error: …", "error #20: …", "warning #177-D: …"; NULL when it is none.
 */
static const char *severity_of(const char *p, enum kw_severity *out)
{
	static const struct {
		const char *word;
		enum kw_severity severity;
	} words[] = { { "catastrophic error", KW_ERROR },
		      { "internal error", KW_ERROR },
		      { "error", KW_ERROR },
		      { "warning", KW_WARNING },
		      { "remark", KW_NOTE } };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t n = strlen(words[i].word);

		if (strncasecmp(p, words[i].word, n) != 0)
			continue;
		p += n;
		if (*p == ' ' && p[1] == '#')
			p += 2 + strspn(p + 2, "0123456789-D");
		*out = words[i].severity;
		return *p == ':' ? p + 1 + strspn(p + 1, " ") : NULL;
	}
	return NULL;
}

/* FILE(LINE): error: MESSAGE */
static bool front_end(struct reader *r, const char *line)
{
	for (const char *open = strchr(line, '('); open; open = strchr(open + 1, '(')) {
		size_t digits = strspn(open + 1, "0123456789");
		enum kw_severity severity;
		const char *message;
		char file[512];

		if (digits == 0 || digits > 9 || strncmp(open + 1 + digits, "): ", 3) != 0)
			continue;
		message = severity_of(open + 4 + digits, &severity);
		if (!message)
			continue;
		snprintf(file, sizeof(file), "%.*s", (int)(open - line), line);
		begin(r, severity, file, (int)strtol(open + 1, NULL, 10), message);
		return true;
	}
	return false;
}

/* The caret below the line that a message is about. */
static bool caret(struct reader *r, const char *line)
{
	size_t blanks = strspn(line, " \t");

	if (line[blanks] != '^' || line[blanks + 1] || blanks < INDENT)
		return false;
	if (r->pending && r->now.column == 0)
		r->now.column = (int)blanks - INDENT + 1;
	return true;
}

/* A line of a file; 0: it is none. */
static int line_number(const char *p)
{
	long v = strtol(p, NULL, 10);

	return v < 0 || v > 1000000000 ? 0 : (int)v;
}

/* "instantiation of … at line 5 of candidate.cu": for a message about a header, the candidate's own
 * line. */
static bool context(struct reader *r, const char *line)
{
	const char *at = strstr(line, " at line "), *of = at ? strstr(at, " of ") : NULL;

	if (!at || !strstr(line, "instantiation of"))
		return strstr(line, "detected during") != NULL;
	if (of && r->pending && r->d->path && strcmp(of + 4, r->d->path) == 0 &&
	    strcmp(r->now.file, r->d->path) != 0) {
		snprintf(r->now.file, sizeof(r->now.file), "%s", r->d->path);
		r->now.line = line_number(at + 9);
		r->now.column = 1;
	}
	return true;
}

static int64_t number_before(const char *line, const char *word)
{
	const char *at = strstr(line, word);

	while (at && at > line && at[-1] == ' ')
		at--;
	while (at && at > line && isdigit((unsigned char)at[-1]))
		at--;
	return at ? strtoll(at, NULL, 10) : 0;
}

static int64_t used(const char *line, const char *word)
{
	const char *at = strstr(line, word);

	return at ? strtoll(at + strlen(word), NULL, 10) : 0;
}

/* The three lines that belong to a function, in their order. */
static bool resources(struct reader *r, const char *line)
{
	static const char properties[] = "Function properties for ";
	const char *at = strstr(line, properties);
	struct kw_cuda_usage *u = r->usage_count ? &r->usage[r->usage_count - 1] : NULL;

	if (at) {
		if (r->usage_count == r->usage_max)
			return true;
		u = &r->usage[r->usage_count++];
		*u = (struct kw_cuda_usage){ .registers = 0 };
		snprintf(u->symbol, sizeof(u->symbol), "%.255s", at + strlen(properties));
		return true;
	}
	if (strstr(line, "bytes stack frame")) {
		if (u) {
			u->stack_bytes = number_before(line, "bytes stack frame");
			u->spill_store_bytes = number_before(line, "bytes spill stores");
			u->spill_load_bytes = number_before(line, "bytes spill loads");
		}
		return true;
	}
	if (!strstr(line, ": Used "))
		return false;
	if (u) {
		u->registers = (int)used(line, ": Used ");
		u->smem_bytes = number_before(line, "bytes smem");
	}
	return true;
}

/* "_Z4tileILi128EEvPKc" is "tile". */
static const char *plain_name(const char *name, size_t n, size_t *len)
{
	char *end;
	unsigned long own;

	*len = n;
	if (n < 3 || strncmp(name, "_Z", 2) != 0 || !isdigit((unsigned char)name[2]))
		return name;
	own = strtoul(name + 2, &end, 10);
	if (own == 0 || own > n - (size_t)(end - name))
		return name;
	*len = own;
	return end;
}

/* "Entry function 'k' uses too much shared data (0xe810 bytes, 0xc000 max)", also "(0x4010 bytes +
 * 0x10 bytes system, …". */
static void say_sizes(char *message, size_t bytes)
{
	static const char words[] = "' uses too much shared data (";
	const char *at = strstr(message, words), *name = strchr(message, '\'');
	char *end, text[480];
	size_t len;
	unsigned long long size, reserved = 0, most;

	if (!at || !name || name >= at)
		return;
	size = strtoull(at + strlen(words), &end, 16);
	if (strncmp(end, " bytes + ", 9) == 0)
		reserved = strtoull(end + 9, &end, 16);
	end = strchr(end, ',');
	most = end ? strtoull(end + 1, NULL, 16) : 0;
	if (!most)
		return;
	name = plain_name(name + 1, (size_t)(at - name - 1), &len);
	snprintf(text, sizeof(text),
		 "kernel '%.*s' declares %llu bytes of shared memory%s; at most %llu can be "
		 "declared. Make "
		 "it smaller, or take it from `extern __shared__` and give its size as smem= in "
		 "the plan",
		 (int)len, name, size + reserved, reserved ? " (with the system's)" : "", most);
	snprintf(message, bytes, "%s", text);
}

static bool assembler(struct reader *r, const char *line)
{
	static const struct {
		const char *word;
		enum kw_severity severity;
	} words[] = { { "fatal   : ", KW_ERROR },
		      { "error   : ", KW_ERROR },
		      { "warning : ", KW_WARNING },
		      { "info    : (C", KW_WARNING } };

	if (strncmp(line, "ptxas ", 6) != 0 && strncmp(line, "nvlink ", 7) != 0)
		return false;
	if (resources(r, line))
		return true;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		const char *at = strstr(line, words[i].word), *message;

		if (!at)
			continue;
		message = at + strlen(words[i].word) -
			  (words[i].severity == KW_WARNING && words[i].word[0] == 'i' ? 2 : 0);
		if (strstr(message, "Ptx assembly aborted") && r->pending &&
		    r->now.severity == KW_ERROR)
			return true; /* repeats that something failed */
		begin(r, words[i].severity, r->d->path, 0, message);
		say_sizes(r->now.message, sizeof(r->now.message));
		place_by_quote(r);
		return true;
	}
	return true;
}

static void parse_line(struct reader *r, const char *line)
{
	static const char own[] = "nvrtc: error: ";

	if (front_end(r, line) || caret(r, line) || context(r, line) || assembler(r, line))
		return;
	if (strncmp(line, own, strlen(own)) == 0) {
		begin(r, KW_ERROR, r->d->path, 0, line + strlen(own));
		return;
	}
	/* nvcc's preprocessor is gcc. */
	if (strstr(line, ": fatal error: ")) {
		flush(r);
		kw_diagnostics_parse(r->d, line, strlen(line), r->source);
	}
	resources(r, line);
}

size_t kw_cuda_log_parse(struct kw_diagnostics *d, const char *text, const char *source,
			 const struct kw_cuda_toolkit *kit, struct kw_cuda_usage *usage, size_t max)
{
	struct reader r = { .d = d, .source = source, .kit = kit, .usage = usage, .usage_max = max };
	struct kw_str rest = kw_str_from(text), part;

	while (text && kw_str_split(&rest, '\n', &part)) {
		char line[MAX_LINE];
		size_t n = part.len < sizeof(line) - 1 ? part.len : sizeof(line) - 1;

		memcpy(line, part.ptr, n);
		line[n] = '\0';
		if (n && line[n - 1] == '\r')
			line[n - 1] = '\0';
		parse_line(&r, line);
	}
	flush(&r);
	return r.usage_count;
}
