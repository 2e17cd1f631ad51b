#include "backend/diagnostics.h"

#include "base/alloc.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DIAGNOSTICS = 50, MAX_LOG = 16 << 10 };

/* The first phrase that is found decides. */
static const struct {
	const char *phrase;
	enum kw_subclass cls;
} phrases[] = {
	{ "No such file or directory", KW_S_INCLUDE },
	{ "file not found", KW_S_INCLUDE },
	{ "Could not find incbin file", KW_S_INCLUDE },
	{ "Could not find include file", KW_S_INCLUDE },
	{ "can't open", KW_S_INCLUDE },
	{ "#include", KW_S_INCLUDE },
	{ "Permission denied", KW_S_INCLUDE },
	{ "target specific option mismatch", KW_S_BUILD_ARCHITECTURE },
	{ "requires target feature", KW_S_BUILD_ARCHITECTURE },
	{ "needs isa option", KW_S_BUILD_ARCHITECTURE },
	{ "no such instruction", KW_S_BUILD_ARCHITECTURE },
	{ "invalid instruction mnemonic", KW_S_BUILD_ARCHITECTURE },
	{ "instruction requires:", KW_S_BUILD_ARCHITECTURE },
	{ "unsupported instruction", KW_S_BUILD_ARCHITECTURE },
	{ "unsupported for this target", KW_S_BUILD_ARCHITECTURE },
	{ "not supported on this target", KW_S_BUILD_ARCHITECTURE },
	{ "memory exhausted", KW_S_BUILD_RESOURCES },
	{ "out of memory", KW_S_BUILD_RESOURCES },
	{ "Cannot allocate memory", KW_S_BUILD_RESOURCES },
	{ "internal compiler error", KW_S_BUILD_RESOURCES },
	{ "LLVM ERROR", KW_S_BUILD_RESOURCES },
	{ "signal terminated program", KW_S_BUILD_RESOURCES },
	{ "terminated with signal", KW_S_BUILD_RESOURCES },
	{ "unable to execute command", KW_S_BUILD_RESOURCES },
	{ "failed due to signal", KW_S_BUILD_RESOURCES },
	{ "exceeds maximum", KW_S_BUILD_RESOURCES },
	{ "exceeds limit", KW_S_BUILD_RESOURCES },
	{ "is too large", KW_S_BUILD_RESOURCES },
	{ "nesting depth", KW_S_BUILD_RESOURCES },
	{ "nested too deeply", KW_S_BUILD_RESOURCES },
	{ "relocation truncated", KW_S_BUILD_RESOURCES },
	{ "File size limit", KW_S_BUILD_RESOURCES },
	{ "undefined reference", KW_S_UNDEFINED },
	{ "undefined symbol", KW_S_UNDEFINED },
	{ "undefined hidden symbol", KW_S_UNDEFINED },
	{ "undefined protected symbol", KW_S_UNDEFINED },
	{ "undeclared", KW_S_UNDEFINED },
	{ "was not declared", KW_S_UNDEFINED },
	{ "implicit declaration", KW_S_UNDEFINED },
	{ "unknown type name", KW_S_UNDEFINED },
	{ "storage size of", KW_S_TYPE },
	{ "expected expression", KW_S_SYNTAX },
	{ "too few arguments", KW_S_TYPE },
	{ "too many arguments", KW_S_TYPE },
	{ "argument to function", KW_S_TYPE },
	{ "expected ", KW_S_SYNTAX },
	{ "stray ", KW_S_SYNTAX },
	{ "non-ASCII", KW_S_SYNTAX },
	{ "unterminated", KW_S_SYNTAX },
	{ "missing terminating", KW_S_SYNTAX },
	{ "extraneous", KW_S_SYNTAX },
	{ "without a previous", KW_S_SYNTAX },
	{ "not within", KW_S_SYNTAX },
	{ "invalid preprocessing", KW_S_SYNTAX },
	{ "#endif", KW_S_SYNTAX },
	{ "#else", KW_S_SYNTAX },
	{ "#error", KW_S_SYNTAX },
	{ "macro", KW_S_SYNTAX },
	{ "invalid suffix", KW_S_SYNTAX },
	{ "multiple definition", KW_S_SYNTAX },
	{ "duplicate symbol", KW_S_SYNTAX },
	{ "is already defined", KW_S_SYNTAX },
	{ "register name", KW_S_SYNTAX },
	{ "unknown pseudo-op", KW_S_SYNTAX },
	{ "unknown directive", KW_S_SYNTAX },
	{ "junk at end of line", KW_S_SYNTAX },
};

enum kw_subclass kw_diagnostic_class(const char *message)
{
	for (size_t i = 0; i < sizeof(phrases) / sizeof(phrases[0]); i++)
		if (strstr(message, phrases[i].phrase))
			return phrases[i].cls;
	return KW_S_TYPE; /* what a compiler says of a program that parses */
}

void kw_diagnostics_init(struct kw_diagnostics *d, const char *path, const char *name)
{
	*d = (struct kw_diagnostics){ .path = path, .name = name };
	kw_buf_init(&d->log, MAX_LOG);
}

void kw_diagnostics_release(struct kw_diagnostics *d)
{
	kw_free(d->list);
	kw_buf_release(&d->log);
	*d = (struct kw_diagnostics){ 0 };
}

static const char *severity_name(enum kw_severity s)
{
	return s == KW_ERROR ? "error" : s == KW_WARNING ? "warning" : "note";
}

/* Copies and ends at a whole UTF-8 character. */
static void copy_text(char *out, size_t out_bytes, const char *text)
{
	size_t n = strnlen(text, out_bytes - 1);

	if (n == out_bytes - 1)
		while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
			n--;
	memcpy(out, text, n);
	out[n] = '\0';
}

static bool goes_aside(struct kw_diagnostics *d, enum kw_severity severity, const char *file)
{
	bool here = d->aside && strcmp(file, d->aside) == 0;

	d->after_aside = here || (d->after_aside && severity == KW_NOTE);
	d->aside_errors += here && severity == KW_ERROR;
	d->aside_warnings += here && severity == KW_WARNING;
	return d->after_aside;
}

void kw_diagnostics_add(struct kw_diagnostics *d, enum kw_severity severity, enum kw_subclass cls, const char *file,
			int line, int column, const char *message)
{
	struct kw_diagnostic *one, *more;

	if (goes_aside(d, severity, file) || d->count >= MAX_DIAGNOSTICS)
		return;
	more = kw_realloc(d->list, (d->count + 1) * sizeof(*more));
	if (!more)
		return;
	d->list = more;
	one = &d->list[d->count++];
	*one = (struct kw_diagnostic){ .severity = severity, .cls = cls, .line = line, .column = column };
	copy_text(one->file, sizeof(one->file), d->path && strcmp(file, d->path) == 0 ? d->name : file);
	copy_text(one->message, sizeof(one->message), message);
	kw_buf_addz(&d->log, one->file);
	if (line > 0)
		kw_buf_printf(&d->log, ":%d:%d", line, column);
	kw_buf_printf(&d->log, ": %s: %s\n", severity_name(severity), one->message);
}

/* ---- gcc's JSON ---- */

static const json_t *caret(const json_t *one)
{
	return json_object_get(json_array_get(json_object_get(one, "locations"), 0), "caret");
}

/* An error in a system header is followed by a note that tells which line of the candidate led there. */
static bool moves_last(struct kw_diagnostics *d, enum kw_severity severity, const json_t *place)
{
	struct kw_diagnostic *last = d->count ? &d->list[d->count - 1] : NULL;

	if (!last || severity != KW_NOTE || last->severity != KW_ERROR || !d->path ||
	    strcmp(last->file, d->name) == 0 || strcmp(kw_json_get_str(place, "file", ""), d->path) != 0)
		return false;
	copy_text(last->file, sizeof(last->file), d->name);
	last->line = (int)kw_json_get_i64(place, "line", 0);
	last->column = (int)kw_json_get_i64(place, "display-column", 0);
	return true;
}

static void from_json(struct kw_diagnostics *d, const json_t *one)
{
	const char *kind = kw_json_get_str(one, "kind", "error"), *message = kw_json_get_str(one, "message", "");
	const json_t *place = caret(one);
	enum kw_severity severity = strcmp(kind, "warning") == 0 ? KW_WARNING :
				    strcmp(kind, "note") == 0	 ? KW_NOTE :
								   KW_ERROR;

	if (moves_last(d, severity, place))
		return;
	kw_diagnostics_add(d, severity, kw_diagnostic_class(message), kw_json_get_str(place, "file", d->name),
			   (int)kw_json_get_i64(place, "line", 0), (int)kw_json_get_i64(place, "display-column", 0),
			   message);
}

static bool parse_json_line(struct kw_diagnostics *d, struct kw_str line)
{
	json_t *list = NULL, *one;
	size_t i;

	if (line.len == 0 || line.ptr[0] != '[')
		return false;
	if (kw_json_parse("gcc", line.ptr, line.len, &list, NULL) != KW_OK || !json_is_array(list)) {
		json_decref(list);
		return false;
	}
	json_array_foreach(list, i, one)
		from_json(d, one);
	json_decref(list);
	return true;
}

/* ---- places in the source ---- */

static void place_of(const char *source, const char *at, int *line, int *column)
{
	const char *start = source;

	*line = 1;
	for (const char *p = source; p < at; p++) {
		if (*p != '\n')
			continue;
		(*line)++;
		start = p + 1;
	}
	*column = (int)(at - start) + 1;
}

static bool word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Line and column of the first use of a name; false when it is not there (a macro made it). */
static bool find_name(const char *source, const char *name, int *line, int *column)
{
	size_t len = strlen(name);

	*line = *column = 0;
	for (const char *at = source ? strstr(source, name) : NULL; at; at = strstr(at + 1, name)) {
		if ((at > source && word_char(at[-1])) || word_char(at[len]))
			continue;
		place_of(source, at, line, column);
		return true;
	}
	return false;
}

/* What an assembler speaks of: the word in its quotes or behind its last colon, else the first assembly that there is. */
static void find_assembly(const char *source, const char *message, int *line, int *column)
{
	static const char *const words[] = { "__asm__", "__asm", "asm" };
	const char *from = strpbrk(message, "`'"), *to, *at;
	char token[200];
	size_t n;

	to = from ? strrchr(++from, '\'') : NULL;
	if (!to && (from = strrchr(message, ':'))) {
		from += 1 + strspn(from + 1, " ");
		to = from + strlen(from);
	}
	n = from && to > from && (size_t)(to - from) < sizeof(token) ? (size_t)(to - from) : 0;
	memcpy(token, from ? from : "", n);
	token[n] = '\0';
	*line = *column = 0;
	if (n && source && (at = strstr(source, token))) {
		place_of(source, at, line, column);
		return;
	}
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (find_name(source, words[i], line, column))
			return;
}

/* ---- text: "file:line:column: error: message" and what assemblers and linkers say ---- */

static bool read_number(const char **p, int *out)
{
	char *end;
	long v;

	if (!isdigit((unsigned char)**p))
		return false;
	v = strtol(*p, &end, 10);
	*out = v > 1000000000 ? 1000000000 : (int)v;
	*p = end;
	return true;
}

/* A file of the compiler's own: the assembler's input. */
static bool is_assembly(const char *file)
{
	size_t n = strlen(file);

	return strcmp(file, "{standard input}") == 0 || strcmp(file, "<inline asm>") == 0 ||
	       (n > 2 && strcmp(file + n - 2, ".s") == 0);
}

static bool parse_placed(struct kw_diagnostics *d, const char *line, const char *source)
{
	static const struct {
		const char *word;
		enum kw_severity severity;
	} words[] = { { ": fatal error: ", KW_ERROR }, { ": error: ", KW_ERROR }, { ": warning: ", KW_WARNING },
		      { ": note: ", KW_NOTE },
		      /* GNU as */
		      { ": Fatal error: ", KW_ERROR }, { ": Error: ", KW_ERROR }, { ": Warning: ", KW_WARNING } };
	char file[512];

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		const char *at = strstr(line, words[i].word), *colon = line, *p;
		int number = 0, column = 0;
		size_t len;

		if (!at)
			continue;
		/* The file's own name may hold colons: the place is what ends where the word begins. */
		for (colon = strchr(line, ':'); colon && colon < at; colon = strchr(colon + 1, ':')) {
			p = colon + 1;
			if (read_number(&p, &number) && (p == at || (*p == ':' && (p++, read_number(&p, &column)) && p == at)))
				break;
			number = column = 0;
		}
		if (!colon || colon > at)
			colon = at;
		len = (size_t)(colon - line);
		len = len < sizeof(file) - 1 ? len : sizeof(file) - 1;
		memcpy(file, line, len);
		file[len] = '\0';
		at += strlen(words[i].word);
		if (is_assembly(file)) {
			find_assembly(source, at, &number, &column);
			snprintf(file, sizeof(file), "%s", d->name);
		}
		kw_diagnostics_add(d, words[i].severity, kw_diagnostic_class(at), file, number, column, at);
		return true;
	}
	return false;
}

/* GNU ld: undefined reference to `f'; lld: undefined symbol: f. */
static bool parse_undefined(struct kw_diagnostics *d, const char *text, const char *source)
{
	static const char *const starts[] = { "undefined reference to `", "undefined reference to '", "undefined symbol: ",
					      "undefined hidden symbol: ", "undefined protected symbol: ",
					      "undefined symbol `", "undefined hidden symbol `", "undefined protected symbol `" };
	char name[200], message[300];
	int line, column;

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		const char *at = strstr(text, starts[i]);
		size_t n = 0;

		if (!at)
			continue;
		for (at += strlen(starts[i]); *at && *at != '\'' && *at != ' ' && n < sizeof(name) - 1; at++)
			name[n++] = *at;
		name[n] = '\0';
		snprintf(message, sizeof(message), "undefined reference to '%s': nothing that a kernel links to has it", name);
		for (size_t k = 0; k < d->count; k++)
			if (strcmp(d->list[k].message, message) == 0)
				return true; /* each name once */
		find_name(source, name, &line, &column);
		kw_diagnostics_add(d, KW_ERROR, KW_S_UNDEFINED, d->name, line, column, message);
		return true;
	}
	return false;
}

/* GNU ld: multiple definition of `f'; lld: duplicate symbol: f. */
static bool parse_doubled(struct kw_diagnostics *d, const char *text, const char *source)
{
	static const char *const starts[] = { "multiple definition of `", "duplicate symbol: " };
	char name[200], message[300];
	int line, column;

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		const char *at = strstr(text, starts[i]);

		if (!at)
			continue;
		at += strlen(starts[i]);
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(at, "' "), at);
		snprintf(message, sizeof(message), "multiple definition of '%s': what a kernel links to has it already", name);
		find_name(source, name, &line, &column);
		kw_diagnostics_add(d, KW_ERROR, KW_S_SYNTAX, d->name, line, column, message);
		return true;
	}
	return false;
}

/* The drivers' and linkers' last words say once more that something failed. */
static bool repeats(const char *text)
{
	static const char *const words[] = { "ld returned",	       "linker command failed",	  "errors generated",
					     "final link failed",      "failed to set dynamic",	  "unable to execute command",
					     "failed due to signal",   "Assembler messages:" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strstr(text, words[i]))
			return true;
	return false;
}

bool kw_diagnostics_has_error(const struct kw_diagnostics *d)
{
	for (size_t i = 0; i < d->count; i++)
		if (d->list[i].severity == KW_ERROR)
			return true;
	return false;
}

static void parse_line(struct kw_diagnostics *d, struct kw_str line, const char *source)
{
	char text[2048], message[480];
	const char *said;
	int number, column;
	size_t n = line.len < sizeof(text) - 1 ? line.len : sizeof(text) - 1;

	memcpy(text, line.ptr, n);
	text[n] = '\0';
	if (parse_undefined(d, text, source) || parse_doubled(d, text, source))
		return;
	if (strstr(text, ": in function `") || (repeats(text) && kw_diagnostics_has_error(d)) || parse_placed(d, text, source))
		return;
	if (strncmp(text, "error: ", 7) == 0) {
		find_assembly(source, text + 7, &number, &column);
		kw_diagnostics_add(d, KW_ERROR, kw_diagnostic_class(text), d->name, number, column, text + 7);
	} else if (strstr(text, "ld: ")) {
		kw_diagnostics_add(d, KW_ERROR, kw_diagnostic_class(text), "ld", 0, 0, strstr(text, "ld: ") + 4);
	} else if ((said = strstr(text, "internal compiler error: ")) != NULL && strstr(text, "signal terminated program")) {
		snprintf(message, sizeof(message), "the compiler took more than it may: %.400s", said + 25);
		kw_diagnostics_add(d, KW_ERROR, KW_S_BUILD_RESOURCES, d->name, 0, 0, message);
	} else if (strncmp(text, "LLVM ERROR: ", 12) == 0 || strstr(text, ": out of memory allocating ") ||
		   strstr(text, "virtual memory exhausted")) {
		snprintf(message, sizeof(message), "the compiler took more than it may: %.400s", text);
		kw_diagnostics_add(d, KW_ERROR, KW_S_BUILD_RESOURCES, d->name, 0, 0, message);
	}
}

void kw_diagnostics_parse(struct kw_diagnostics *d, const char *text, size_t len, const char *source)
{
	struct kw_str rest = { text, len }, line;

	while (len && kw_str_split(&rest, '\n', &line)) {
		line = kw_str_trim(line);
		if (line.len && !parse_json_line(d, line))
			parse_line(d, line, source);
	}
}

enum kw_subclass kw_diagnostics_class(const struct kw_diagnostics *d)
{
	for (size_t i = 0; i < d->count; i++)
		if (d->list[i].severity == KW_ERROR)
			return d->list[i].cls;
	return KW_S_SYNTAX;
}

void kw_diagnostics_take(struct kw_diagnostics *d, struct kw_artefact *a)
{
	a->diagnostics = d->list;
	a->diagnostic_count = d->count;
	d->log.full = false; /* a cut log is a log */
	a->log = kw_buf_take(&d->log);
	d->list = NULL;
	d->count = 0;
}
