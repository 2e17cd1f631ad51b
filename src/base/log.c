#include "base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"

enum { LINE_BYTES = 1024 };
static const int64_t plain_every_ns = 5000000000;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static enum kw_log_level max_level = KW_LOG_INFO;
static char progress_line[LINE_BYTES]; /* the newest text; empty: no progress is shown */
static int64_t progress_ns;            /* when a plain line was printed last; 0: never */

bool kw_color(int fd)
{
	const char *no = getenv("NO_COLOR");

	return (!no || no[0] == '\0') && isatty(fd);
}

void kw_log_set_level(enum kw_log_level level)
{
	pthread_mutex_lock(&lock);
	max_level = level;
	pthread_mutex_unlock(&lock);
}

/* Whether a line can be rewritten. */
static bool on_terminal(void)
{
	const char *term = getenv("TERM");

	return isatty(STDERR_FILENO) && !(term && strcmp(term, "dumb") == 0);
}

/* The time, so that lines of several processes can be put in order. */
static const char *since_boot(char *out, size_t bytes)
{
	int64_t now = kw_now_ns();

	snprintf(out, bytes, "%lld.%03lld ", (long long)(now / 1000000000), (long long)(now / 1000000 % 1000));
	return out;
}

static void wipe_progress(void)
{
	if (progress_line[0] && on_terminal())
		fputs("\r\033[K", stderr);
}

/* As much as one line of the terminal holds: a line that wraps could not be rewritten. Counts
 * characters of UTF-8, each as one column wide. */
static int fitting_bytes(const char *text)
{
	struct winsize w;
	int columns = 0, n = 0;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &w) < 0 || w.ws_col == 0)
		w.ws_col = 80;
	for (; text[n]; n++)
		if (((unsigned char)text[n] & 0xc0) != 0x80 && ++columns >= w.ws_col)
			break;
	return n;
}

static void draw_progress(void)
{
	if (progress_line[0] && on_terminal()) {
		fprintf(stderr, "\r\033[K%.*s", fitting_bytes(progress_line), progress_line);
		fflush(stderr);
	}
}

void kw_log(enum kw_log_level level, const char *fmt, ...)
{
	static const char *const names[] = { "error", "warning", "info", "debug" };
	static const char *const colors[] = { "\033[31m", "\033[33m", "", "\033[2m" };
	bool color = kw_color(STDERR_FILENO);
	char text[LINE_BYTES * 2], when[32];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	pthread_mutex_lock(&lock);
	if (level <= max_level) {
		wipe_progress();
		if (level == KW_LOG_INFO)
			fprintf(stderr, "%s\n", text);
		else
			fprintf(stderr, "%s%s:%s %s%s\n", color ? colors[level] : "", names[level],
				color ? "\033[0m" : "", level == KW_LOG_DEBUG ? since_boot(when, sizeof(when)) : "", text);
		draw_progress();
	}
	pthread_mutex_unlock(&lock);
}

void kw_progress(const char *fmt, ...)
{
	char text[LINE_BYTES];
	int64_t now = kw_now_ns();
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	pthread_mutex_lock(&lock);
	if (max_level >= KW_LOG_INFO) {
		memcpy(progress_line, text, sizeof(text));
		if (on_terminal()) {
			draw_progress();
		} else if (progress_ns == 0 || now - progress_ns >= plain_every_ns) {
			fprintf(stderr, "%s\n", progress_line);
			progress_ns = now;
		}
	}
	pthread_mutex_unlock(&lock);
}

void kw_progress_end(void)
{
	pthread_mutex_lock(&lock);
	wipe_progress();
	progress_line[0] = '\0';
	progress_ns = 0;
	pthread_mutex_unlock(&lock);
}
