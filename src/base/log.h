/* log.h - progress and warnings on stderr; results never go here.
 *
 * Levels: error, warn, info, debug; `--quiet`, default info, `--verbose`. NO_COLOR is honoured.
 * On a terminal kw_progress rewrites one line, which kw_progress_end wipes before results are printed; in a pipe it
 * prints the first line and then at most one every 5 s. Thread-safe (one lock). Library code logs only warn and debug. */
#ifndef KW_BASE_LOG_H
#define KW_BASE_LOG_H

#include <stdbool.h>

enum kw_log_level { KW_LOG_ERROR, KW_LOG_WARN, KW_LOG_INFO, KW_LOG_DEBUG };
void kw_log_set_level(enum kw_log_level level);
void kw_log(enum kw_log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void kw_progress(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void kw_progress_end(void);
bool kw_color(int fd);                               /* terminal, and NO_COLOR is not set */

#endif
