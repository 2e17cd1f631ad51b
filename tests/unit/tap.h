/* tap.h - a test program that speaks TAP.
 *
 *     int main(void)
 *     {
 *             is_int(2 + 2, 4, "sums");
 *             is_str(name, "softmax", "the name of %s", path);
 *             ok(p != NULL, "found");
 *             if (!have_gpu)
 *                     skip(2, "no GPU here");     // counts two tests
 *             return done();                      // prints the plan; 0 when all passed
 *     }
 *
 * Checks return whether they passed and never end the program. One process, one thread.
 * fails_cleanly() runs a scenario in child processes with the n-th allocation (write, exec)
 * failing, n = 1, 2, ... until it succeeds untouched: see below. */
#ifndef KW_TESTS_TAP_H
#define KW_TESTS_TAP_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"

static int tap_count, tap_failed;

__attribute__((format(printf, 2, 0), unused)) static bool tap_result(bool pass, const char *fmt,
								     va_list ap)
{
	printf("%sok %d - ", pass ? "" : "not ", ++tap_count);
	vprintf(fmt, ap);
	printf("\n");
	if (!pass)
		tap_failed++;
	fflush(stdout);
	return pass;
}

__attribute__((format(printf, 2, 3), unused)) static bool ok_(bool pass, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tap_result(pass, fmt, ap);
	va_end(ap);
	return pass;
}

__attribute__((format(printf, 3, 4), unused)) static bool is_int_(int64_t got, int64_t want,
								  const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tap_result(got == want, fmt, ap);
	va_end(ap);
	if (got != want)
		printf("#  got %" PRId64 "\n# want %" PRId64 "\n", got, want);
	return got == want;
}

__attribute__((format(printf, 3, 4), unused)) static bool is_str_(const char *got, const char *want,
								  const char *fmt, ...)
{
	bool pass = got && want ? strcmp(got, want) == 0 : got == want;
	va_list ap;

	va_start(ap, fmt);
	tap_result(pass, fmt, ap);
	va_end(ap);
	if (!pass)
		printf("#  got '%s'\n# want '%s'\n", got ? got : "(NULL)", want ? want : "(NULL)");
	return pass;
}

/* got holds part somewhere: for error lines. */
__attribute__((format(printf, 3, 4), unused)) static bool has_str_(const char *got,
								   const char *part,
								   const char *fmt, ...)
{
	bool pass = got && strstr(got, part);
	va_list ap;

	va_start(ap, fmt);
	tap_result(pass, fmt, ap);
	va_end(ap);
	if (!pass)
		printf("#  got '%s'\n# want '%s' in it\n", got ? got : "(NULL)", part);
	return pass;
}

#define tap_at(call) ((call) ? true : (printf("#   at %s:%d\n", __FILE__, __LINE__), false))
#define ok(pass, ...) tap_at(ok_((pass), __VA_ARGS__))
#define is_int(got, want, ...) tap_at(is_int_((int64_t)(got), (int64_t)(want), __VA_ARGS__))
#define is_str(got, want, ...) tap_at(is_str_((got), (want), __VA_ARGS__))
#define has_str(got, part, ...) tap_at(has_str_((got), (part), __VA_ARGS__))

/* Prints a "# ..." line. */
__attribute__((format(printf, 1, 2), unused)) static void diag(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	printf("# ");
	vprintf(fmt, ap);
	printf("\n");
	va_end(ap);
}

__attribute__((unused)) static void skip(int tests, const char *reason)
{
	while (tests-- > 0)
		printf("ok %d # SKIP %s\n", ++tap_count, reason);
}

__attribute__((unused)) static int done(void)
{
	printf("1..%d\n", tap_count);
	return tap_failed ? 1 : 0;
}

/* Runs scenario(arg) in a child process with VARIABLE=n, n = 1, 2, ... up to max_n. It returns 0
 * for "went well", 1 for "failed with a status and an error text", anything else for "not clean"
 * (a crash counts as that too). Passes when every n ended with 0 or 1 and the last one with 0:
 * then n was beyond the last allocation, and the scenario itself works. One test. */
__attribute__((unused)) static bool fails_cleanly(const char *variable, int max_n,
						  int (*scenario)(void *), void *arg,
						  const char *name)
{
	bool clean = true, reached = false, failed_once = false;

	for (int n = 1; n <= max_n && clean && !reached; n++) {
		int status = 0;
		char text[16];
		pid_t pid;

		fflush(stdout);
		pid = fork();
		if (pid == 0) {
			snprintf(text, sizeof(text), "%d", n);
			setenv(variable, text, 1);
			kw_fail_reload();
			_exit(scenario(arg));
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid)
			return ok_(false, "%s: cannot fork", name);
		clean = WIFEXITED(status) && WEXITSTATUS(status) <= 1;
		reached = clean && WEXITSTATUS(status) == 0 && failed_once;
		failed_once = failed_once || (clean && WEXITSTATUS(status) == 1);
		if (!clean)
			diag("%s=%d: status %d, signal %d", variable, n,
			     WIFEXITED(status) ? WEXITSTATUS(status) : -1,
			     WIFSIGNALED(status) ? WTERMSIG(status) : 0);
	}
	if (!failed_once)
		diag("no value of %s made it fail", variable);
	return ok_(clean && reached, "%s: each failing %s is told cleanly", name, variable);
}

#endif
