/* Edits of a parent: SEARCH/REPLACE blocks and unified diffs. Both become pairs of old and new text; line numbers of a diff
 * are not looked at, models seldom get them right. */
#include <string.h>

#include "agent/reply.h"

enum { EDIT_MAX_BYTES = 4 << 20, SHOWN = 60 };

struct edit {
	struct kw_str old_text, new_text; /* whole lines */
};

static bool is_search(struct kw_str line)
{
	return kw_str_starts(kw_str_trim(line), "<<<<<<<");
}

static bool is_middle(struct kw_str line)
{
	return kw_str_eqz(kw_str_trim(line), "=======");
}

static bool is_replace(struct kw_str line)
{
	return kw_str_starts(kw_str_trim(line), ">>>>>>>");
}

/* Two lines that differ in blanks at their ends only. */
static bool same_line(struct kw_str a, struct kw_str b)
{
	while (a.len && strchr(" \t\r", a.ptr[a.len - 1]))
		a.len--;
	while (b.len && strchr(" \t\r", b.ptr[b.len - 1]))
		b.len--;
	return kw_str_eq(a, b);
}

/* Two lines that differ in how far they are indented as well. */
static bool same_words(struct kw_str a, struct kw_str b)
{
	return kw_str_eq(kw_str_trim(a), kw_str_trim(b));
}

/* Whether the lines of `old_text` stand at `at`; *end: behind them. */
static bool fits(struct kw_str at, struct kw_str old_text, bool (*same)(struct kw_str, struct kw_str), const char **end)
{
	struct kw_str want, have;

	while (old_text.len) {
		kw_str_split(&old_text, '\n', &want);
		if (!at.len || !kw_str_split(&at, '\n', &have) || !same(want, have))
			return false;
		*end = have.ptr + have.len;
	}
	return true;
}

static int count_places(struct kw_str source, struct kw_str old_text, bool (*same)(struct kw_str, struct kw_str), struct kw_str *place)
{
	struct kw_str rest = source, line;
	int places = 0;

	while (rest.len) {
		const char *end = rest.ptr;

		if (fits(rest, old_text, same, &end)) {
			*place = (struct kw_str){ rest.ptr, (size_t)(end - rest.ptr) };
			places++;
		}
		kw_str_split(&rest, '\n', &line);
	}
	return places;
}

/* *loose: it stands there indented otherwise. */
static enum kw_status find_place(struct kw_str source, struct kw_str old_text, struct kw_str *place, bool *loose, struct kw_error *err)
{
	struct kw_str shown = kw_str_trim(old_text);
	int places = count_places(source, old_text, same_line, place);

	*loose = places == 0;
	if (*loose)
		places = count_places(source, old_text, same_words, place);
	shown.len = shown.len < SHOWN ? shown.len : SHOWN;
	if (shown.len && memchr(shown.ptr, '\n', shown.len))
		shown.len = (size_t)((const char *)memchr(shown.ptr, '\n', shown.len) - shown.ptr);
	if (places == 1)
		return KW_OK;
	return kw_fail(err, KW_ERR_INPUT, "", "the text to be replaced, beginning with '" KW_STR_FMT "', stands %s in the parent "
		       "kernel; give it exactly as it is there, with enough lines around it, or write the whole file",
		       KW_STR_ARG(shown), places ? "at several places" : "nowhere");
}

/* The blanks in front of the first line that has anything else. */
static struct kw_str indent_of(struct kw_str text)
{
	struct kw_str line = { text.ptr, 0 };
	size_t n = 0;

	while (text.len && kw_str_split(&text, '\n', &line) && kw_str_trim(line).len == 0)
		;
	while (n < line.len && (line.ptr[n] == ' ' || line.ptr[n] == '\t'))
		n++;
	return (struct kw_str){ line.ptr, n };
}

/* The new lines, indented as far as the place is where the old ones were not. */
static void add_indented(struct kw_buf *out, struct kw_str fresh, struct kw_str from, struct kw_str to)
{
	struct kw_str line;

	while (fresh.len && kw_str_split(&fresh, '\n', &line)) {
		if (line.len >= from.len && (from.len == 0 || memcmp(line.ptr, from.ptr, from.len) == 0) && kw_str_trim(line).len) {
			kw_buf_add(out, to.ptr, to.len);
			line = (struct kw_str){ line.ptr + from.len, line.len - from.len };
		}
		kw_buf_add(out, line.ptr, line.len);
		if (fresh.ptr)
			kw_buf_addc(out, '\n');
	}
}

static enum kw_status apply(struct kw_buf *source, const struct edit *e, struct kw_error *err)
{
	struct kw_str whole = kw_buf_str(source), place = { whole.ptr, 0 }, fresh = e->new_text;
	struct kw_buf out;
	bool loose;
	enum kw_status status = find_place(whole, e->old_text, &place, &loose, err);

	if (status != KW_OK)
		return status;
	kw_buf_init(&out, EDIT_MAX_BYTES);
	/* The line's end behind the place stays: of the new text it goes, or with all of the place. */
	if (fresh.len && fresh.ptr[fresh.len - 1] == '\n')
		fresh.len--;
	kw_buf_add(&out, whole.ptr, (size_t)(place.ptr - whole.ptr));
	if (loose)
		add_indented(&out, fresh, indent_of(e->old_text), indent_of(place));
	else
		kw_buf_add(&out, fresh.ptr, fresh.len);
	if (fresh.len == 0 && place.ptr + place.len < whole.ptr + whole.len)
		place.len++;
	kw_buf_add(&out, place.ptr + place.len, (size_t)(whole.ptr + whole.len - place.ptr - place.len));
	if (out.full) {
		kw_buf_release(&out);
		return kw_fail(err, KW_ERR_INPUT, "", "the edits make the kernel too long");
	}
	kw_buf_release(source);
	*source = out;
	return KW_OK;
}

static enum kw_status apply_blocks(struct kw_buf *source, struct kw_str text, int *count, struct kw_error *err)
{
	enum { OUTSIDE, OLD, NEW } where = OUTSIDE;
	struct edit e = { { 0 }, { 0 } };
	struct kw_str line;
	enum kw_status status = KW_OK;

	while (status == KW_OK && text.len && kw_str_split(&text, '\n', &line)) {
		const char *after = line.ptr + line.len + (text.len > 0);

		if (where == OUTSIDE && is_search(line)) {
			where = OLD;
			e.old_text = (struct kw_str){ after, 0 };
		} else if (where == OLD && is_middle(line)) {
			where = NEW;
			e.old_text.len = (size_t)(line.ptr - e.old_text.ptr);
			e.new_text = (struct kw_str){ after, 0 };
		} else if (where == NEW && is_replace(line)) {
			where = OUTSIDE;
			e.new_text.len = (size_t)(line.ptr - e.new_text.ptr);
			(*count)++;
			status = kw_str_trim(e.old_text).len
				? apply(source, &e, err)
				: kw_fail(err, KW_ERR_INPUT, "", "the SEARCH part of edit %d is empty", *count);
		}
	}
	if (status == KW_OK && where != OUTSIDE)
		status = kw_fail(err, KW_ERR_INPUT, "", "edit %d has no end (>>>>>>> REPLACE)", *count + 1);
	return status;
}

static bool is_hunk(struct kw_str line)
{
	return kw_str_starts(line, "@@");
}

/* A line of a hunk; what is behind the last is prose, or nothing. */
static bool of_hunk(struct kw_str line)
{
	return line.len && strchr(" +-\t\\", line.ptr[0]);
}

static struct kw_str without_rest(struct kw_str hunk)
{
	struct kw_str rest = hunk, line;
	const char *end = hunk.ptr;

	while (rest.len && kw_str_split(&rest, '\n', &line))
		if (of_hunk(line))
			end = line.ptr + line.len;
	return (struct kw_str){ hunk.ptr, (size_t)(end - hunk.ptr) };
}

/* One hunk: context and '-' lines are the old text, context and '+' lines the new one. */
static enum kw_status apply_hunk(struct kw_buf *source, struct kw_str hunk, struct kw_error *err)
{
	struct kw_buf old_text, new_text;
	struct kw_str line;
	struct edit e;
	enum kw_status status;
	bool changes = false;

	kw_buf_init(&old_text, EDIT_MAX_BYTES);
	kw_buf_init(&new_text, EDIT_MAX_BYTES);
	hunk = without_rest(hunk);
	while (hunk.len && kw_str_split(&hunk, '\n', &line)) {
		char kind = line.len ? line.ptr[0] : ' ';
		struct kw_str rest = line.len ? (struct kw_str){ line.ptr + 1, line.len - 1 } : line;

		if (kind == '\\')
			continue;
		if (kind != '+') {
			kw_buf_add(&old_text, rest.ptr, rest.len);
			kw_buf_addc(&old_text, '\n');
		}
		if (kind != '-') {
			kw_buf_add(&new_text, rest.ptr, rest.len);
			kw_buf_addc(&new_text, '\n');
		}
		changes = changes || kind == '+' || kind == '-';
	}
	e = (struct edit){ kw_buf_str(&old_text), kw_buf_str(&new_text) };
	if (!changes)
		status = KW_OK;
	else if (!kw_str_trim(e.old_text).len)
		status = kw_fail(err, KW_ERR_INPUT, "", "a part of the diff has no line of the parent kernel around it");
	else
		status = apply(source, &e, err);
	kw_buf_release(&old_text);
	kw_buf_release(&new_text);
	return status;
}

static bool ends_hunk(struct kw_str line)
{
	return is_hunk(line) || kw_str_starts(line, "--- ") || kw_str_starts(line, "diff ") || kw_str_starts(line, "*** ") || kw_str_starts(line, "```") ||
	       kw_str_starts(line, "~~~");
}

static enum kw_status apply_diff(struct kw_buf *source, struct kw_str text, int *count, struct kw_error *err)
{
	struct kw_str line;
	const char *start = NULL, *end = text.ptr + text.len;
	enum kw_status status = KW_OK;

	while (status == KW_OK && text.len && kw_str_split(&text, '\n', &line)) {
		if (start && ends_hunk(line)) {
			(*count)++;
			status = apply_hunk(source, (struct kw_str){ start, (size_t)(line.ptr - start) }, err);
			start = NULL;
		}
		if (is_hunk(line))
			start = text.len ? text.ptr : end;
	}
	if (status == KW_OK && start) {
		(*count)++;
		status = apply_hunk(source, (struct kw_str){ start, (size_t)(end - start) }, err);
	}
	return status;
}

/* Blocks that are marked as a diff and have no line with @@: each is one part. */
static enum kw_status apply_marked(struct kw_buf *source, struct kw_str text, int *count, struct kw_error *err)
{
	struct kw_str line, info;
	const char *start = NULL;
	enum kw_status status = KW_OK;

	while (status == KW_OK && text.len && kw_str_split(&text, '\n', &line)) {
		info = kw_str_trim(line);
		if (start && (kw_str_starts(info, "```") || kw_str_starts(info, "~~~"))) {
			(*count)++;
			status = apply_hunk(source, (struct kw_str){ start, (size_t)(line.ptr - start) }, err);
			start = NULL;
		} else if (kw_str_eqz(info, "```diff") || kw_str_eqz(info, "```patch") || kw_str_eqz(info, "~~~diff")) {
			start = line.ptr + line.len + (text.ptr != NULL);
		} else if (start && (kw_str_starts(line, "--- ") || kw_str_starts(line, "+++ "))) {
			start = line.ptr + line.len + (text.ptr != NULL);
		}
	}
	return status;
}

static bool has_line(struct kw_str text, bool (*is)(struct kw_str))
{
	struct kw_str line;

	while (text.len && kw_str_split(&text, '\n', &line))
		if (is(line))
			return true;
	return false;
}

enum kw_status kw_edits_apply(const char *parent, struct kw_str text, struct kw_arena *a, const char **out, size_t *len,
			      struct kw_error *err)
{
	struct kw_buf source;
	enum kw_status status;
	int count = 0;

	*out = NULL;
	*len = 0;
	kw_buf_init(&source, EDIT_MAX_BYTES);
	kw_buf_addz(&source, parent);
	if (has_line(text, is_search))
		status = apply_blocks(&source, text, &count, err);
	else
		status = apply_diff(&source, text, &count, err);
	if (status == KW_OK && count == 0)
		status = apply_marked(&source, text, &count, err);
	if (status == KW_OK && count == 0)
		status = KW_NO;
	if (status == KW_OK) {
		*out = kw_arena_strndup(a, source.ptr ? source.ptr : "", source.len);
		*len = source.len;
		if (!*out || source.full)
			status = kw_fail(err, KW_ERR_INPUT, "", "the edits make the kernel too long");
	}
	kw_buf_release(&source);
	return status;
}
