#include "judge/sanitizer_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

enum { MAX_LINE = 1024 };
static const char prefix[] = "=========";

/* How a record begins. */
static const struct {
	const char *phrase;
	enum kw_subclass subclass;
} heads[] = {
	{ "Potential invalid __", KW_S_RACE }, /* of a block that may not have begun or have ended */
	{ "Invalid __", KW_S_OUT_OF_BOUNDS },
	{ "Uninitialized __", KW_S_UNINITIALISED },
	{ "Race reported between ", KW_S_RACE },
	{ " hazard detected at ", KW_S_RACE },
	{ "Barrier error detected", KW_S_BARRIER },
	{ "Deadlock detected", KW_S_BARRIER },
	{ "Tensor Memory ", KW_S_ILLEGAL_ACCESS },
	{ "Malloc/Free error", KW_S_ILLEGAL_ACCESS },
};
/* What the tool says of itself or of the program, and not of a kernel. */
static const char *const troubles[] = { "Error: ", "Internal Sanitizer Error", "Target application", "is not supported",
					"Device not supported", "No attachable process", "Unable to", "Failed to", "unrecognised option" };

struct reader {
	struct kw_sanitizer_log *out;
	struct kw_sanitizer_hit now;
	bool pending;
};

static bool same_place(const struct kw_sanitizer_place *a, const struct kw_sanitizer_place *b)
{
	return a->line == b->line && strcmp(a->file, b->file) == 0 && strcmp(a->kernel, b->kernel) == 0;
}

static void flush(struct reader *r)
{
	struct kw_sanitizer_log *o = r->out;

	if (!r->pending)
		return;
	r->pending = false;
	if (!r->now.kernel[0])
		memcpy(r->now.kernel, r->now.at.kernel, sizeof(r->now.kernel));
	for (size_t i = 0; i < o->count; i++)
		if (o->hits[i].subclass == r->now.subclass && same_place(&o->hits[i].at, &r->now.at) &&
		    same_place(&o->hits[i].other, &r->now.other)) {
			o->hits[i].times++;
			return;
		}
	if (o->count < KW_SANITIZER_HITS)
		o->hits[o->count++] = r->now;
}

/* "void ns::f<int>(int *, int)+0x90" is "ns::f<int>". */
static void function_name(const char *text, size_t n, char out[96])
{
	size_t end = 0, start = 0;
	int depth = 0;

	while (end < n && (text[end] != '(' || depth > 0 || strncmp(text + end, "(anonymous", 10) == 0)) {
		depth += text[end] == '<';
		depth -= text[end] == '>' && depth > 0;
		if (text[end] == ' ' && depth == 0 && end + 1 < n && text[end + 1] != '(')
			start = end + 1;
		if (depth == 0 && (strncmp(text + end, "+0x", 3) == 0 || strncmp(text + end, ":0x", 3) == 0))
			break;
		end++;
	}
	snprintf(out, 96, "%.*s", (int)(end - start), text + start);
}

/* FILE:LINE; false: it ends in no number. */
static bool file_and_line(const char *text, size_t n, struct kw_sanitizer_place *p)
{
	size_t colon = n;

	while (colon > 0 && text[colon - 1] != ':')
		colon--;
	if (colon == 0 || colon == n || strspn(text + colon, "0123456789") < n - colon)
		return false;
	p->line = (int)strtol(text + colon, NULL, 10);
	snprintf(p->file, sizeof(p->file), "%.*s", (int)(colon - 1), text);
	return true;
}

static const char *find_last(const char *text, size_t n, const char *word)
{
	const char *last = NULL;

	for (const char *at = memmem(text, n, word, strlen(word)); at;
	     at = memmem(at + 1, n - (size_t)(at + 1 - text), word, strlen(word)))
		last = at;
	return last;
}

/* "f(int *)+0x90 in x.cu:12", "f(int *)", "f in x.cu:12", and of before 2024 "0x90 in x.cu:12:f(int *)", "0x90 in f(int *)". */
static void read_place(const char *text, size_t n, struct kw_sanitizer_place *p)
{
	const char *in = find_last(text, n, " in "), *rest = in ? in + 4 : NULL;
	size_t left = rest ? n - (size_t)(rest - text) : 0, cut;

	*p = (struct kw_sanitizer_place){ .line = 0 };
	if (strncmp(text, "0x", 2) != 0) {
		function_name(text, in ? (size_t)(in - text) : n, p->kernel);
		if (rest)
			file_and_line(rest, left, p);
		return;
	}
	for (cut = 0; cut < left; cut++) /* the ':' behind the line's number */
		if (rest[cut] == ':' && cut + 1 < left && rest[cut + 1] != ':' && file_and_line(rest, cut, p))
			break;
	if (rest)
		function_name(cut < left ? rest + cut + 1 : rest, cut < left ? left - cut - 1 : left, p->kernel);
}

/* Digits that may be in groups: "1,024". */
static int64_t grouped(const char *text)
{
	int64_t v = 0;

	for (; (*text >= '0' && *text <= '9') || *text == ','; text++)
		if (*text != ',' && v < INT64_MAX / 16)
			v = 10 * v + (*text - '0');
	return v;
}

static void read_distance(struct kw_sanitizer_hit *h, const char *text)
{
	const char *at = strstr(text, "nearest allocation at "), *size = at ? strstr(at, " of size ") : NULL;

	if (!size)
		return;
	h->has_allocation = true;
	h->allocation = strtoull(at + strlen("nearest allocation at "), NULL, 16);
	h->allocation_bytes = (uint64_t)grouped(size + strlen(" of size "));
	h->before = strstr(text, " bytes before ") != NULL;
	h->distance_bytes = strstr(text, "is inside") ? 0 : grouped(text + strcspn(text, "0123456789"));
}

/* A line that belongs to the record before it. */
static void detail(struct reader *r, const char *text)
{
	struct kw_sanitizer_hit *h = &r->now;
	const char *at, *frame = strstr(text, "Device Frame:");
	struct kw_sanitizer_place p;

	if (strncmp(text, "at ", 3) == 0 && !h->at.kernel[0]) {
		read_place(text + 3, strlen(text + 3), &h->at);
	} else if (sscanf(text, "by thread (%d,%d,%d) in block (%d,%d,%d)", &h->thread[0], &h->thread[1], &h->thread[2], &h->block[0],
			  &h->block[1], &h->block[2]) == 6) {
		h->has_thread = true;
	} else if ((at = strstr(text, " access at ")) && strncmp(text, "and ", 4) == 0) {
		const char *end;

		at += strlen(" access at ");
		end = strstr(at, " [");
		read_place(at, end ? (size_t)(end - at) : strlen(at), &h->other);
		/* Sums of what a hostile text claims stay numbers. */
		if (end && h->hazards < INT64_MAX / 2)
			h->hazards += grouped(end + 2) / 2 < INT64_MAX / 4 ? grouped(end + 2) : 0;
	} else if ((at = strstr(text, " Thread (")) && strstr(at, " at ")) { /* of a hazard */
		at = strstr(at, " at ") + 4;
		read_place(at, strlen(at), h->at.kernel[0] ? &h->other : &h->at);
	} else if (frame) {
		frame += strlen("Device Frame:");
		frame += *frame == ' ';
		read_place(frame, strlen(frame), &p);
		memcpy(h->kernel, p.kernel, sizeof(h->kernel)); /* the outermost comes last */
	} else if (strncmp(text, "Address ", 8) == 0 || strncmp(text, "Access ", 7) == 0) {
		at = strstr(text, "0x");
		h->has_address = at != NULL;
		h->address = at ? strtoull(at, NULL, 16) : 0;
		if (strstr(text, "is misaligned"))
			h->subclass = KW_S_MISALIGNED;
	} else if (strstr(text, "nearest allocation")) {
		read_distance(h, text);
	}
}

/* "ERROR SUMMARY: 2 errors", "RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)" */
static bool summary(struct reader *r, const char *text)
{
	const char *at = strstr(text, "SUMMARY: ");

	if (!at)
		return false;
	flush(r);
	if (strstr(text, "LEAK"))
		return true;
	r->out->finished = true;
	r->out->errors = grouped(at + strlen("SUMMARY: "));
	return true;
}

static bool head(struct reader *r, const char *text)
{
	static const char *const severities[] = { "WARNING: ", "WARN: ", "Warning: ", "ERROR: ", "Error: ", "INFO: ", "Info: " };
	bool warning = false;
	const char *at;

	for (size_t i = 0; i < sizeof(severities) / sizeof(severities[0]); i++)
		if (strncmp(text, severities[i], strlen(severities[i])) == 0) {
			warning = i < 3 || i > 4;
			text += strlen(severities[i]);
			break;
		}
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		if (!strstr(text, heads[i].phrase))
			continue;
		flush(r);
		r->now = (struct kw_sanitizer_hit){ .subclass = heads[i].subclass, .warning = warning, .times = 1 };
		snprintf(r->now.what, sizeof(r->now.what), "%.150s", text);
		r->pending = true;
		at = strstr(text, "Race reported between ") ? strstr(text, " access at ") : NULL;
		if (at)
			read_place(at + strlen(" access at "), strlen(at + strlen(" access at ")), &r->now.at);
		return true;
	}
	return false;
}

static void parse_line(struct reader *r, const char *line)
{
	const char *text = line + strspn(line, " \t");
	size_t indent;

	if (strncmp(text, prefix, strlen(prefix)) != 0) {
		if (strncmp(line, "Error: ", 7) == 0 && !r->out->trouble[0]) /* of the command line */
			snprintf(r->out->trouble, sizeof(r->out->trouble), "%.190s", line);
		return;
	}
	text += strlen(prefix);
	indent = strspn(text, " ");
	text += indent;
	if (!*text || strcmp(text, "COMPUTE-SANITIZER") == 0) {
		flush(r);
		return;
	}
	if (summary(r, text) || head(r, text))
		return;
	if (r->pending && indent > 2) {
		detail(r, text);
		return;
	}
	for (size_t i = 0; i < sizeof(troubles) / sizeof(troubles[0]) && !r->out->trouble[0]; i++)
		if (strstr(text, troubles[i]))
			snprintf(r->out->trouble, sizeof(r->out->trouble), "%.190s", text);
}

void kw_sanitizer_parse(const char *text, struct kw_sanitizer_log *out)
{
	struct reader r = { .out = out };
	struct kw_str rest = kw_str_from(text), part;

	*out = (struct kw_sanitizer_log){ .count = 0 };
	while (kw_str_split(&rest, '\n', &part)) {
		char line[MAX_LINE];

		snprintf(line, sizeof(line), "%.*s", (int)(part.len < sizeof(line) - 1 ? part.len : sizeof(line) - 1), part.ptr);
		line[strcspn(line, "\r")] = '\0';
		parse_line(&r, line);
	}
	flush(&r);
}
