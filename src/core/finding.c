#include "core/finding.h"

#include <math.h>

#include "core/fields.h"

static const struct kw_field finding_fields[] = {
#define F(key, kind, member) KW_FIELD(struct kw_finding, key, kind, member)
	F("id", STR, id),
	F("rule", STR, rule),
	F("sentence", STR, sentence),
	F("gain_ns", KNOWN, gain_ns),
#undef F
};
static const struct kw_field directive_fields[] = {
#define F(key, kind, member) KW_FIELD(struct kw_directive, key, kind, member)
	F("id", STR, id),
	F("text", STR, text),
	F("wrong_when", STR, wrong_when),
	F("applied", BOOL, applied),
	F("measured_factor", F64, measured_factor),
#undef F
};
static const struct kw_field prediction_fields[] = {
#define F(key, kind, member) KW_FIELD(struct kw_prediction, key, kind, member)
	F("metric", STR, metric),
	F("factor_low", KNOWN, factor_low),
	F("factor_high", KNOWN, factor_high),
#undef F
};

json_t *kw_finding_to_json(const struct kw_finding *f)
{
	json_t *obj = json_object(), *directive = json_object(), *prediction = json_object();
	bool all = kw_fields_put(obj, finding_fields, KW_FIELD_COUNT(finding_fields), f) &&
		   kw_fields_put(directive, directive_fields, KW_FIELD_COUNT(directive_fields),
				 &f->directive) &&
		   kw_fields_put(prediction, prediction_fields, KW_FIELD_COUNT(prediction_fields),
				 &f->directive.prediction);

	/* json_object_set counts a reference of its own. */
	all = all && json_object_set(directive, "prediction", prediction) == 0 &&
	      json_object_set(obj, "directive", directive) == 0;
	json_decref(prediction);
	json_decref(directive);
	if (all)
		return obj;
	json_decref(obj);
	return NULL;
}

enum kw_status kw_finding_from_json(struct kw_finding *f, const json_t *j, struct kw_arena *a,
				    struct kw_error *err)
{
	const json_t *directive = json_object_get(j, "directive");
	const json_t *prediction = json_object_get(directive, "prediction");
	enum kw_status s;

	*f = (struct kw_finding){ .gain_ns = NAN, .directive.prediction = { .factor_low = NAN, .factor_high = NAN } };
	s = kw_fields_get(j, "a finding", finding_fields, KW_FIELD_COUNT(finding_fields), f, a, err);
	if (s == KW_OK && directive)
		s = kw_fields_get(directive, "a directive", directive_fields,
				  KW_FIELD_COUNT(directive_fields), &f->directive, a, err);
	if (s == KW_OK && prediction)
		s = kw_fields_get(prediction, "a prediction", prediction_fields,
				  KW_FIELD_COUNT(prediction_fields), &f->directive.prediction, a, err);
	return s;
}
