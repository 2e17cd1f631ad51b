/* ops.c - lookups in the table of ops.def. */
#include "expr/internal.h"

#include <string.h>

static const struct kw_op table[OP_COUNT] = {
#define X(id, name, aliases, kind, sig, build, flops, special, doc) \
	[OP_##id] = { OP_##id, name, aliases, KW_NODE_##kind, sig, build, flops, special, doc },
#include "expr/ops.def"
#undef X
};

const char *kw_op_meaning(const struct kw_op *op)
{
	bool obvious = !op_definition(op->id) && op->kind != KW_NODE_WINDOW && op->id != OP_LINEAR && op->kind != KW_NODE_COMPOSITE;

	return obvious ? NULL : op->doc;
}

const char *kw_op_name(const struct kw_op *op)
{
	return op ? op->name : "";
}

const struct kw_op *op_get(enum op_id id)
{
	return &table[id];
}

static bool has_alias(const char *aliases, struct kw_str name)
{
	struct kw_str rest = kw_str_from(aliases), part;

	while (rest.len && kw_str_split(&rest, ' ', &part)) {
		if (kw_str_eq(part, name))
			return true;
	}
	return false;
}

const struct kw_op *op_find_hidden(struct kw_str name)
{
	for (int i = 1; i < OP_COUNT; i++) {
		if (kw_str_eqz(name, table[i].name) || has_alias(table[i].aliases, name))
			return &table[i];
	}
	return NULL;
}

const struct kw_op *op_find(struct kw_str name)
{
	return name.len && name.ptr[0] == '_' ? NULL : op_find_hidden(name);
}

const char *op_nearest(const char *word)
{
	const char *names[OP_COUNT + KW_DTYPE_COUNT];
	size_t n = 0;

	for (int i = 1; i < OP_COUNT; i++) {
		if (table[i].name[0] != '_')
			names[n++] = table[i].name;
	}
	for (int d = 1; d < KW_DTYPE_COUNT; d++)
		names[n++] = kw_dtype_name(d);
	return kw_str_nearest(word, names, n);
}
