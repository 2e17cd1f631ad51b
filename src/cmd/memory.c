/* kwright memory list | show NAME | search WORDS | rules | add TEXT | forget N | export | import FILE. A NAME is a pattern, hardware:SHEET or a number. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "cmd/cmd.h"
#include "core/hardware.h"
#include "memory/memory.h"
#include "report/table.h"

struct own {
	int limit;
	const char *name, *family, *device, *dtype;
};

static json_t *row_json(const struct kw_memory_row *r)
{
	json_t *o = json_pack("{s:I, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "id", (json_int_t)r->id, "kind", r->kind,
			      "name", r->name, "family", r->family, "device", r->device, "dtype", r->dtype, "outcome",
			      r->outcome, "text", r->text);

	if (o && json_object_set_new(o, "speedup", r->speedup > 0 ? kw_json_real(r->speedup) : json_null()) != 0) {
		json_decref(o);
		return NULL;
	}
	return o;
}

/* The first line of a text, as much as a row of a terminal holds. */
static const char *first_line(struct kw_arena *a, const char *text)
{
	size_t n = strcspn(text, "\n");

	while (n > 72 && ((unsigned char)text[n] & 0xc0) == 0x80)
		n--;
	return kw_arena_strndup(a, text, n > 72 ? 72 : n);
}

/* The backend of a pattern, the device of an experience; a sheet is a device. */
static const char *made_for(const struct kw_memory_row *r)
{
	return strcmp(r->kind, "hardware") == 0 ? "" : r->device;
}

static enum kw_status print_rows(const struct kw_cmd *cmd, const struct kw_memory_row *rows, size_t n,
				 struct kw_arena *a, struct kw_error *err)
{
	struct kw_table t;
	struct kw_buf out;
	json_t *list = json_array();

	if (cmd->json) {
		for (size_t i = 0; list && i < n; i++)
			if (json_array_append_new(list, row_json(&rows[i])) != 0) {
				json_decref(list);
				list = NULL;
			}
		return kw_print_json(list, err);
	}
	json_decref(list);
	if (n == 0) {
		printf("nothing is remembered about that\n");
		return KW_OK;
	}
	kw_table_init(&t, a, "><<<<<><");
	kw_table_row(&t, "id", "kind", "name", "for", "family", "outcome", "speedup", "");
	for (size_t i = 0; i < n; i++) {
		char id[24] = "", speedup[24] = "";

		if (rows[i].id)
			snprintf(id, sizeof(id), "%lld", (long long)rows[i].id);
		if (rows[i].speedup > 0)
			snprintf(speedup, sizeof(speedup), "%.3gx", rows[i].speedup);
		kw_table_row(&t, id, rows[i].kind, rows[i].name, made_for(&rows[i]), rows[i].family, rows[i].outcome, speedup,
			     first_line(a, rows[i].text));
	}
	kw_buf_init(&out, 64 << 20);
	kw_table_write(&t, "", &out);
	return kw_print_buf(&out, err);
}

static enum kw_status show_pattern(const struct kw_cmd *cmd, const struct kw_pattern *p, struct kw_error *err)
{
	json_t *why = json_array();

	for (size_t i = 0; i < p->why_count; i++)
		json_array_append_new(why, json_string(p->why[i]));
	if (cmd->json)
		return kw_print_json(json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:s}", "kind", "pattern", "name", p->name,
					       "family", p->family, "backend", p->backend, "title", p->title, "why", why,
					       "text", p->text), err);
	json_decref(why);
	printf("%s: %s\nfamily %s, backend %s, %s\n", p->name, p->title, p->family, p->backend, p->path);
	for (size_t i = 0; i < p->why_count; i++)
		printf("- %s\n", p->why[i]);
	printf("\n%s", p->text);
	return KW_OK;
}

/* A note need not be about anything. */
static void print_about(const struct kw_memory_row *r)
{
	const char *about[] = { r->family, r->device, r->dtype };
	const char *before = " (";

	for (size_t i = 0; i < sizeof(about) / sizeof(about[0]); i++)
		if (about[i][0]) {
			printf("%s%s", before, about[i]);
			before = ", ";
		}
	printf("%s", before[0] == ',' ? ")" : "");
}

static enum kw_status show_row(const struct kw_cmd *cmd, int64_t id, struct kw_store *memory, struct kw_arena *a,
			       struct kw_error *err)
{
	struct kw_memory_row r;
	enum kw_status status = kw_store_memory_get(memory, id, a, &r, err);

	if (status != KW_OK)
		return status;
	if (cmd->json)
		return kw_print_json(row_json(&r), err);
	printf("%s: %s", r.kind, r.name);
	print_about(&r);
	if (r.outcome[0])
		printf(", outcome %s", r.outcome);
	if (r.speedup > 0)
		printf(", %.3gx", r.speedup);
	printf("\n%s\n", r.text);
	return KW_OK;
}

static enum kw_status show_sheet(const struct kw_cmd *cmd, const char *name, struct kw_arena *a, struct kw_error *err)
{
	struct kw_hardware h;
	char *text;
	size_t len;
	json_t *o;
	enum kw_status status = kw_hardware_load(name, a, &h, err);

	if (status == KW_OK)
		status = kw_data_read(kw_arena_printf(a, "knowledge/hardware/%s.yaml", name), a, &text, &len, err);
	if (status != KW_OK)
		return status;
	if (!cmd->json) {
		printf("%s", text);
		return KW_OK;
	}
	o = kw_hardware_to_json(&h);
	if (o && (json_object_set_new(o, "kind", json_string("hardware")) != 0 ||
		  json_object_set_new(o, "sheet", json_string(name)) != 0)) {
		json_decref(o);
		o = NULL;
	}
	return kw_print_json(o, err);
}

/* "row_split", of whatever backend comes first, or "cuda/row_split". */
static bool is_named(const struct kw_pattern *p, const char *word)
{
	const char *slash = strchr(word, '/');

	if (!slash)
		return strcmp(p->name, word) == 0;
	return strlen(p->backend) == (size_t)(slash - word) && strncmp(p->backend, word, (size_t)(slash - word)) == 0 &&
	       strcmp(p->name, slash + 1) == 0;
}

/* Each name once, with the backends that have a pattern of it where one of them was asked for: "cuda/pointwise". */
static enum kw_status no_pattern(const char *word, const struct kw_pattern *p, size_t n, struct kw_arena *a, struct kw_error *err)
{
	const char **names = kw_arena_calloc(a, n + 1, sizeof(*names));
	const bool whole = strchr(word, '/') != NULL;
	size_t count = 0;

	for (size_t i = 0; names && i < n; i++) {
		if (!whole && i > 0 && strcmp(p[i].name, p[i - 1].name) == 0) /* they are sorted by name */
			continue;
		names[count] = whole ? kw_arena_printf(a, "%s/%s", p[i].backend, p[i].name) : p[i].name;
		if (!names[count++])
			names = NULL;
	}
	return names ? kw_unknown_word("pattern", word, names, count, err) : kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
}

/* A number of experience, the name of a pattern, or hardware:SHEET. */
static enum kw_status show(const struct kw_cmd *cmd, struct kw_store *memory, struct kw_arena *a,
			   struct kw_error *err)
{
	const char *word = cmd->args[1];
	struct kw_pattern *patterns;
	size_t n = 0;
	int64_t id;
	enum kw_status status;

	if (kw_str_to_i64(kw_str_from(word), &id))
		return show_row(cmd, id, memory, a, err);
	if (strncmp(word, "hardware:", 9) == 0)
		return show_sheet(cmd, word + 9, a, err);
	status = kw_memory_patterns(NULL, a, &patterns, &n, err);
	for (size_t i = 0; status == KW_OK && i < n; i++)
		if (is_named(&patterns[i], word))
			return show_pattern(cmd, &patterns[i], err);
	if (status != KW_OK)
		return status;
	return no_pattern(word, patterns, n, a, err);
}

static enum kw_status search(const struct kw_cmd *cmd, const struct own *own, struct kw_store *memory,
			     struct kw_arena *a, struct kw_error *err)
{
	struct kw_buf words;
	struct kw_memory_row *rows = NULL;
	size_t n = 0;
	enum kw_status status;

	kw_buf_init(&words, 16384);
	for (size_t i = 1; i < cmd->arg_count; i++)
		kw_buf_printf(&words, "%s%s", i > 1 ? " " : "", cmd->args[i]);
	status = kw_memory_search(memory, words.ptr ? words.ptr : "", own->limit ? own->limit : 20, a, &rows, &n, err);
	kw_buf_release(&words);
	return status == KW_OK ? print_rows(cmd, rows, n, a, err) : status;
}

static void print_record(const struct kw_rule_record *r)
{
	printf("%s: applied %d time%s", r->rule, r->tried, r->tried == 1 ? "" : "s");
	if (r->promised)
		printf(", kept %.0f%% of what it promised (last: at most %.0f%% of the time predicted, %.0f%% measured)\n", 100 * r->kept,
		       100 * r->predicted, 100 * r->measured);
	else
		printf(", without a number that it promised\n");
}

/* The record of each rule of explain that was ever applied. */
static enum kw_status rules(const struct kw_cmd *cmd, struct kw_store *memory, struct kw_arena *a, struct kw_error *err)
{
	struct kw_rule_record *records = NULL;
	json_t *list = json_array();
	size_t n = 0;
	enum kw_status status = kw_op_rule_records(memory, a, &records, &n, err);

	for (size_t i = 0; status == KW_OK && i < n; i++) {
		if (!cmd->json)
			print_record(&records[i]);
		else if (json_array_append_new(list, json_pack("{s:s, s:i, s:i, s:o, s:o, s:o}", "rule", records[i].rule, "applied",
							       records[i].tried, "promised", records[i].promised, "kept",
							       kw_json_real(records[i].kept), "last_predicted",
							       kw_json_real(records[i].predicted), "last_measured",
							       kw_json_real(records[i].measured))) != 0)
			status = kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	}
	if (status == KW_OK && cmd->json)
		return kw_print_json(list, err);
	json_decref(list);
	if (status == KW_OK && n == 0)
		printf("no rule was applied yet: a run with a model records what it applies, and so does\n"
		       "kwright explain --compare BEFORE AFTER --applied RULE\n");
	return status;
}

/* A note with a family that no task is of would never be told to anybody. */
static enum kw_status known_words(const struct own *own, struct kw_error *err)
{
	static const char *const families[] = {
#define X(e, name) name,
		KW_FAMILY_LIST(X)
#undef X
	};
	bool known = !own->family;

	for (size_t i = 0; i < KW_FAMILY_COUNT && !known; i++)
		known = strcmp(own->family, families[i]) == 0;
	if (!known)
		return kw_unknown_word("family", own->family, families, KW_FAMILY_COUNT, err);
	if (own->dtype && kw_dtype_parse(kw_str_from(own->dtype)) == KW_DTYPE_NONE)
		return kw_fail(err, KW_ERR_USAGE, "", "no dtype '%.60s'; they are written like f32, bf16 or i64", own->dtype);
	return KW_OK;
}

/* A note in the user's own words; models are told it among what was learnt. */
static enum kw_status add_note(const struct kw_cmd *cmd, const struct own *own, struct kw_store *memory, struct kw_error *err)
{
	struct kw_memory_row r = { .kind = "note", .name = own->name ? own->name : "note", .family = own->family ? own->family : "",
				   .device = own->device ? own->device : "", .dtype = own->dtype ? own->dtype : "",
				   .text = cmd->args[1], .outcome = "" };
	int64_t id = 0;
	enum kw_status status;

	status = known_words(own, err);
	if (status != KW_OK)
		return status;
	if (kw_str_trim(kw_str_from(r.text)).len == 0 || !kw_utf8_valid(r.text, strlen(r.text)))
		return kw_fail(err, KW_ERR_USAGE, "", "a note is a text");
	status = kw_store_memory_add(memory, &r, &id, err);
	if (status != KW_OK)
		return status;
	if (cmd->json)
		return kw_print_json(json_pack("{s:I}", "added", (json_int_t)id), err);
	printf("remembered as %lld\n", (long long)id);
	return KW_OK;
}

static enum kw_status forget(const struct kw_cmd *cmd, struct kw_store *memory, struct kw_error *err)
{
	int64_t id;
	enum kw_status status;

	if (!kw_str_to_i64(kw_str_from(cmd->args[1]), &id))
		return kw_fail(err, KW_ERR_USAGE, "", "memory forget takes the number of an experience, not '%.60s'; patterns and sheets are "
			       "files", cmd->args[1]);
	status = kw_store_memory_forget(memory, id, err);
	if (status != KW_OK)
		return status;
	if (cmd->json)
		return kw_print_json(json_pack("{s:I}", "forgotten", (json_int_t)id), err);
	printf("forgotten\n");
	return KW_OK;
}

/* All experience, a JSON object a line: what import reads elsewhere. */
static enum kw_status export_all(struct kw_store *memory, struct kw_arena *a, struct kw_error *err)
{
	struct kw_memory_row *rows = NULL;
	size_t n = 0;
	enum kw_status status = kw_store_memory_search(memory, "", -1, a, &rows, &n, err);

	for (size_t i = n; i-- > 0 && status == KW_OK;) { /* oldest first */
		json_t *j = row_json(&rows[i]);
		struct kw_buf text;

		kw_buf_init(&text, 64 << 20);
		if (j) {
			json_object_del(j, "id");
			json_object_set_new(j, "when_ms", json_integer(rows[i].when_ms));
		}
		status = j ? kw_json_canonical(j, &text, err) : kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
		if (status == KW_OK)
			printf("%s\n", text.ptr);
		kw_buf_release(&text);
		json_decref(j);
	}
	return status;
}

static enum kw_status known_kind(const char *where, const char *kind, struct kw_error *err)
{
	static const char *const kinds[] = { KW_MEMORY_KINDS };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (strcmp(kinds[i], kind) == 0)
			return KW_OK;
	return kw_fail(err, KW_ERR_INPUT, where, "no kind of experience '%.60s'; there are %s, %s and %s", kind, kinds[0], kinds[1], kinds[2]);
}

static enum kw_status read_line(const char *where, struct kw_str line, struct kw_arena *a, struct kw_memory_row *r, struct kw_error *err)
{
	json_t *j = NULL;
	enum kw_status status = kw_json_parse(where, line.ptr, line.len, &j, err);

	if (status != KW_OK)
		return status;
	*r = (struct kw_memory_row){ .kind = kw_arena_strdup(a, kw_json_get_str(j, "kind", "")),
				     .name = kw_arena_strdup(a, kw_json_get_str(j, "name", "")),
				     .family = kw_arena_strdup(a, kw_json_get_str(j, "family", "")),
				     .device = kw_arena_strdup(a, kw_json_get_str(j, "device", "")),
				     .dtype = kw_arena_strdup(a, kw_json_get_str(j, "dtype", "")),
				     .text = kw_arena_strdup(a, kw_json_get_str(j, "text", "")),
				     .outcome = kw_arena_strdup(a, kw_json_get_str(j, "outcome", "")),
				     .speedup = kw_json_get_f64(j, "speedup", 0), .when_ms = kw_json_get_i64(j, "when_ms", 0) };
	json_decref(j);
	if (!r->kind || !r->name || !r->family || !r->device || !r->dtype || !r->text || !r->outcome)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for experience");
	if (!r->kind[0] || !r->text[0])
		return kw_fail(err, KW_ERR_INPUT, where, "no experience: it has at least \"kind\" and \"text\"");
	return known_kind(where, r->kind, err);
}

/* Every line is read before the first is added: a file with a bad one leaves the memory as it was. */
static enum kw_status read_lines(const char *path, struct kw_arena *a, struct kw_memory_row **out, size_t *count, struct kw_error *err)
{
	char *text, where[600];
	size_t len, lines = 1;
	struct kw_str rest, line;
	enum kw_status status = kw_file_read_arena(path, 128 << 20, a, &text, &len, err);

	*count = 0;
	if (status != KW_OK)
		return status;
	rest = (struct kw_str){ text, len };
	for (size_t i = 0; i < len; i++)
		lines += text[i] == '\n';
	*out = kw_arena_calloc(a, lines, sizeof(**out));
	if (!*out)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for experience");
	for (int n = 1; status == KW_OK && kw_str_split(&rest, '\n', &line); n++) {
		if (kw_str_trim(line).len == 0)
			continue;
		snprintf(where, sizeof(where), "%.500s:%d", path, n);
		status = read_line(where, line, a, &(*out)[*count], err);
		(*count)++;
	}
	return status;
}

static enum kw_status import_all(const struct kw_cmd *cmd, struct kw_store *memory, struct kw_arena *a, struct kw_error *err)
{
	struct kw_memory_row *rows = NULL;
	size_t count = 0, added = 0;
	enum kw_status status = read_lines(cmd->args[1], a, &rows, &count, err);

	if (status == KW_OK)
		status = kw_store_memory_add_all(memory, rows, count, &added, err);
	if (status != KW_OK)
		return status;
	if (cmd->json)
		return kw_print_json(json_pack("{s:I, s:I}", "added", (json_int_t)added, "known", (json_int_t)(count - added)), err);
	printf("%zu added, %zu known before\n", added, count - added);
	return KW_OK;
}

static enum kw_status dispatch(const struct kw_cmd *cmd, size_t action, const struct own *own, struct kw_store *memory,
			       struct kw_arena *a, struct kw_error *err)
{
	switch (action) {
	case 1: return show(cmd, memory, a, err);
	case 3: return rules(cmd, memory, a, err);
	case 4: return add_note(cmd, own, memory, err);
	case 5: return forget(cmd, memory, err);
	case 6: return export_all(memory, a, err);
	case 7: return import_all(cmd, memory, a, err);
	default: return search(cmd, own, memory, a, err);
	}
}

enum kw_status kw_cmd_memory(struct kw_cmd *cmd, int argc, char **argv, struct kw_error *err)
{
	static const char *const actions[] = { "list", "show", "search", "rules", "add", "forget", "export", "import" };
	static const size_t counts[] = { 1, 2, 0, 1, 2, 2, 1, 2 }; /* 0: more than one */
	enum { ACTIONS = 8 };
	static const struct kw_option options[] = {
		{ "limit", KW_OPT_COUNT, offsetof(struct own, limit), "N", "rows at most (20)" },
		{ "name", KW_OPT_TEXT, offsetof(struct own, name), "NAME", "add: what it is about" },
		{ "family", KW_OPT_TEXT, offsetof(struct own, family), "FAMILY", "add: row_reduce, matmul, ..." },
		{ "device", KW_OPT_TEXT, offsetof(struct own, device), "DEVICE", "add: likewise" },
		{ "dtype", KW_OPT_TEXT, offsetof(struct own, dtype), "DTYPE", "add: likewise" },
	};
	static const struct kw_syntax syntax = {
		"memory", "list | show NAME | search WORDS | rules | add TEXT | forget N | export | import FILE", 1, KW_ARGS_MAX,
		"list    patterns and the newest experience\n"
		"show    a pattern by its name (cuda/pointwise), a hardware sheet (hardware:h200), or an experience by its number\n"
		"search  patterns, hardware sheets and experience with these words, best first\n"
		"rules   what came of the advice of explain: how often each rule was applied, and what it kept of its promise\n"
		"add     a note of yours, which models are told where its words fit\n"
		"forget  an experience, by its number\n"
		"export  all experience, a JSON object a line; import reads it elsewhere, and adds what is not known",
		"kwright memory search softmax row", options, sizeof(options) / sizeof(options[0]), false
	};
	struct own own = { 0 };
	struct kw_store *memory;
	struct kw_arena a;
	size_t i = 0;
	enum kw_status status = kw_options_parse(cmd, &syntax, argc, argv, &own, err);

	if (status != KW_OK || cmd->helped)
		return status;
	while (i < ACTIONS && strcmp(cmd->args[0], actions[i]) != 0)
		i++;
	if (i == ACTIONS)
		return kw_unknown_word("action of memory", cmd->args[0], actions, ACTIONS, err);
	if (counts[i] ? cmd->arg_count != counts[i] : cmd->arg_count < 2)
		return kw_fail(err, KW_ERR_USAGE, "", "usage: kwright memory %s", syntax.args);
	status = kw_store_memory_open(&memory, err);
	if (status != KW_OK)
		return status;
	kw_arena_init(&a, 1 << 30);
	status = dispatch(cmd, i, &own, memory, &a, err);
	kw_arena_release(&a);
	kw_store_close(memory);
	return status;
}
