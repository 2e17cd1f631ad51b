#include "backend/cuda.h"
#include "backend/opencl.h"

#include <stdio.h>
#include <string.h>

enum { LINE = 2048 };

/* "error: candidate.cl:3:7: text" -> "candidate.cl:3:7: error: text". */
static bool turned_around(const char *line, char *out, size_t out_bytes)
{
	static const char *const words[] = { "error", "warning", "note", "fatal error" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t n = strlen(words[i]);
		const char *at, *end, *stop;

		if (strncmp(line, words[i], n) != 0 || strncmp(line + n, ": ", 2) != 0)
			continue;
		at = line + n + 2;
		end = strstr(at, ": ");
		stop = strstr(at, " <Spelling="); /* what a macro wrote: the place is where it stands */
		stop = stop && end && stop < end ? stop : end;
		if (!end || stop == at || stop[-1] < '0' || stop[-1] > '9')
			return false;
		snprintf(out, out_bytes, "%.*s: %s: %s", (int)(stop - at), at, words[i], end + 2);
		return true;
	}
	return false;
}

/* PoCL's linker, in the words of others. A kernel links to OpenCL's own functions and nothing else. */
static bool missing_symbol(const char *line, char *out, size_t out_bytes)
{
	static const char start[] = "Cannot find symbol ", end[] = " in kernel library";
	const char *at = strstr(line, start), *stop = at ? strstr(at, end) : NULL;

	if (!stop)
		return false;
	at += strlen(start);
	snprintf(out, out_bytes, "undefined reference to `%.*s'", (int)(stop - at), at);
	return true;
}

/* NVIDIA's OpenCL goes through its assembler, which names no place: "ptxas fatal   : Unresolved extern function 'open'". */
static bool of_the_assembler(struct kw_diagnostics *d, const char *line)
{
	bool error = strncmp(line, "ptxas fatal", 11) == 0 || strncmp(line, "ptxas error", 11) == 0;
	const char *message = error ? strchr(line, ':') : NULL;

	if (!message)
		return false;
	message += 1 + strspn(message + 1, " ");
	kw_diagnostics_add(d, KW_ERROR, kw_cuda_message_class(message), d->name, 0, 0, message);
	return true;
}

/* NVIDIA calls the source <kernel>, others input.cl or a number; there is only one. */
static const char *own_file(const char *line, char *out, size_t out_bytes)
{
	static const char *const names[] = { "<kernel>:", "<program source>:", "input.cl:", "<stdin>:" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(line, names[i], strlen(names[i])) == 0) {
			snprintf(out, out_bytes, KW_CL_FILE ":%s", line + strlen(names[i]));
			return out;
		}
	return line;
}

void kw_cl_log_parse(struct kw_diagnostics *d, const char *log, size_t len, const char *source, bool failed)
{
	struct kw_str rest = { log, len }, line;
	char text[LINE], turned[LINE + 40], named[LINE + 64];

	while (len && kw_str_split(&rest, '\n', &line)) {
		const char *use = text;

		line = kw_str_trim(line);
		snprintf(text, sizeof(text), KW_STR_FMT, (int)(line.len < LINE - 1 ? line.len : LINE - 1), line.ptr);
		if (of_the_assembler(d, text))
			continue;
		if (turned_around(text, turned, sizeof(turned)) || missing_symbol(text, turned, sizeof(turned)))
			use = turned;
		use = own_file(use, named, sizeof(named));
		kw_diagnostics_parse(d, use, strlen(use), source);
	}
	if (!failed || kw_diagnostics_has_error(d))
		return;
	snprintf(text, sizeof(text), "%.*s", (int)(len < 400 ? len : 400), log);
	if (!text[0])
		snprintf(text, sizeof(text), "the runtime gave no reason");
	kw_diagnostics_add(d, KW_ERROR, kw_diagnostic_class(text), d->name, 0, 0, text);
}
