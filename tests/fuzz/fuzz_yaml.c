/* Any bytes: a tree whose every node has a place, or an error with a text. */
#include "base/yaml.h"

#include "fuzz.h"

static void visit(const struct kw_yaml *n)
{
	int64_t i;
	double d;

	must(n->line >= 1 && n->column >= 1 && n->file);
	if (n->kind == KW_YAML_SCALAR) {
		must(n->text && strlen(n->text) == n->text_len);
		kw_yaml_i64(n, &i, NULL);
		kw_yaml_f64(n, &d, NULL);
	}
	for (const struct kw_yaml *c = n->first; c; c = c->next) {
		must((n->kind == KW_YAML_MAP) == (c->key != NULL));
		must(n->kind != KW_YAML_MAP || kw_yaml_find(n, c->key) == c);
		visit(c);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kw_error err = { 0 };
	struct kw_yaml *root;
	struct kw_arena a;

	kw_arena_init(&a, 32 << 20);
	if (kw_yaml_parse("f", (const char *)data, size, &a, &root, &err) == KW_OK)
		visit(root);
	else
		must(!root && err.text[0] && err.where[0]);
	kw_arena_release(&a);
	return 0;
}
