#include "search/strategy.h"

#include <string.h>

#define X(name) extern const struct kw_strategy name;
#include "search/strategies.def"
#undef X

static const struct kw_strategy *const all[] = {
#define X(name) &name,
#include "search/strategies.def"
#undef X
};

const struct kw_strategy *kw_strategy_find(const char *name)
{
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (strcmp(all[i]->name, name) == 0)
			return all[i];
	return NULL;
}

const struct kw_strategy *const *kw_strategy_all(size_t *count)
{
	*count = sizeof(all) / sizeof(all[0]);
	return all;
}
