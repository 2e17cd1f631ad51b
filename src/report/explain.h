/* explain.h - what explain found, for people (text, a page of HTML) and for programs (JSON).
 *
 *     kw_report_explain_text(&all, false, &buf);
 *     json_t *j = kw_report_explain_json(&all);     // NULL: out of memory
 *
 * Thread rule: none needed. */
#ifndef KW_REPORT_EXPLAIN_H
#define KW_REPORT_EXPLAIN_H

#include "base/json.h"
#include "explain/explanation.h"

/* Verdict line, roofline position, three findings; whole: all of them, and what was dropped and why. False: out of memory. */
bool kw_report_explain_text(const struct kw_explanation *x, bool whole, struct kw_buf *out);
json_t *kw_report_explain_json(const struct kw_explanation *x);
/* One file that needs nothing else: roofline and stall reasons as SVG, findings below. */
bool kw_report_explain_html(const struct kw_explanation *x, struct kw_buf *out);

#endif
