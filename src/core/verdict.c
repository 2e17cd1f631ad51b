#include "core/verdict.h"

#include <string.h>

enum { ARENA_BYTES = 256 << 20 };

static const struct {
	const char *name, *meaning;
} classes[] = {
#define X(e, name, text) { name, text },
	KW_VERDICT_LIST(X)
#undef X
};
static const struct {
	enum kw_verdict_class cls;
	const char *name, *meaning;
} subclasses[] = {
#define X(e, cls, name, text) { KW_V_##cls, name, text },
	KW_SUBCLASS_LIST(X)
#undef X
};

const char *kw_verdict_name(enum kw_verdict_class v)
{
	return (unsigned)v < KW_V_COUNT ? classes[v].name : "none";
}

const char *kw_verdict_meaning(enum kw_verdict_class v)
{
	return (unsigned)v < KW_V_COUNT ? classes[v].meaning : "";
}

const char *kw_subclass_name(enum kw_subclass s)
{
	return (unsigned)s < KW_S_COUNT ? subclasses[s].name : "none";
}

const char *kw_subclass_meaning(enum kw_subclass s)
{
	return (unsigned)s < KW_S_COUNT ? subclasses[s].meaning : "";
}

enum kw_verdict_class kw_subclass_class(enum kw_subclass s)
{
	return (unsigned)s < KW_S_COUNT ? subclasses[s].cls : KW_V_OK;
}

bool kw_verdict_parse(const char *name, enum kw_verdict_class *out)
{
	for (int i = 0; i < KW_V_COUNT; i++) {
		if (strcmp(classes[i].name, name) == 0) {
			*out = (enum kw_verdict_class)i;
			return true;
		}
	}
	return false;
}

/* "timeout" belongs to two classes, so the class has to be known. */
bool kw_subclass_parse(enum kw_verdict_class cls, const char *name, enum kw_subclass *out)
{
	*out = KW_S_NONE;
	if (!*name)
		return true;
	for (int i = 0; i < KW_S_COUNT; i++) {
		if (subclasses[i].cls == cls && strcmp(subclasses[i].name, name) == 0) {
			*out = (enum kw_subclass)i;
			return true;
		}
	}
	return false;
}

void kw_verdict_init(struct kw_verdict *v)
{
	memset(v, 0, sizeof(*v));
	kw_arena_init(&v->arena, ARENA_BYTES);
}

void kw_verdict_release(struct kw_verdict *v)
{
	kw_arena_release(&v->arena);
	memset(v, 0, sizeof(*v));
}
