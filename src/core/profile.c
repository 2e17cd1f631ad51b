#include "core/profile.h"

#include <string.h>

#include "core/fields.h"

static const struct kw_field profile_fields[] = {
	KW_FIELD(struct kw_profile, "device", STR, device),
	KW_FIELD(struct kw_profile, "kernel", STR, kernel),
	KW_FIELD(struct kw_profile, "tool", STR, tool),
};
static const struct kw_field metric_fields[] = {
	KW_FIELD(struct kw_metric, "name", STR, name),
	KW_FIELD(struct kw_metric, "unit", STR, unit),
	KW_FIELD(struct kw_metric, "source", STR, source),
};

/* "value": null says that it was looked for and is missing. */
static json_t *metric_to_json(const struct kw_metric *m)
{
	json_t *obj = json_object();

	if (kw_fields_put(obj, metric_fields, KW_FIELD_COUNT(metric_fields), m) &&
	    kw_field_set(obj, "value",
			 m->state == KW_METRIC_PRESENT ? kw_field_real(m->value) : json_null()))
		return obj;
	json_decref(obj);
	return NULL;
}

json_t *kw_profile_to_json(const struct kw_profile *p)
{
	json_t *obj = json_object(), *list = json_array();
	bool all = list && kw_fields_put(obj, profile_fields, KW_FIELD_COUNT(profile_fields), p);

	for (size_t i = 0; i < p->metric_count && all; i++)
		all = json_array_append_new(list, metric_to_json(&p->metrics[i])) == 0;
	all = all && json_object_set(obj, "metrics", list) == 0;
	json_decref(list);
	if (all)
		return obj;
	json_decref(obj);
	return NULL;
}

static enum kw_status metric_from_json(const json_t *j, struct kw_metric *m, struct kw_arena *a,
				       struct kw_error *err)
{
	const json_t *value = json_object_get(j, "value");
	enum kw_status s = kw_fields_get(j, "a metric", metric_fields, KW_FIELD_COUNT(metric_fields),
					 m, a, err);

	if (s != KW_OK || !value || json_is_null(value))
		return s;
	if (!kw_field_to_real(value, &m->value))
		return kw_fail(err, KW_ERR_INPUT, "", "the value of a metric must be a number or null");
	m->state = KW_METRIC_PRESENT;
	return KW_OK;
}

enum kw_status kw_profile_from_json(struct kw_profile *p, const json_t *j, struct kw_arena *a,
				    struct kw_error *err)
{
	const json_t *list = json_object_get(j, "metrics");
	size_t count = json_array_size(list);
	enum kw_status s;

	*p = (struct kw_profile){ 0 };
	s = kw_fields_get(j, "a profile", profile_fields, KW_FIELD_COUNT(profile_fields), p, a, err);
	if (s != KW_OK)
		return s;
	if (list && !json_is_array(list))
		return kw_fail(err, KW_ERR_INPUT, "", "'metrics' must be a list");
	p->metrics = kw_arena_calloc(a, count, sizeof(*p->metrics));
	if (!p->metrics)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	for (; p->metric_count < count && s == KW_OK; p->metric_count++)
		s = metric_from_json(json_array_get(list, p->metric_count),
				     &p->metrics[p->metric_count], a, err);
	return s;
}

const struct kw_metric *kw_profile_find(const struct kw_profile *p, const char *name)
{
	for (size_t i = 0; i < p->metric_count; i++)
		if (p->metrics[i].name && strcmp(p->metrics[i].name, name) == 0)
			return &p->metrics[i];
	return NULL;
}
