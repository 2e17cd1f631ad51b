/* hash, clock and log. */
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "tap.h"
#include "temp.h"

static void hash_pair(const char *a, const char *b, char out[KW_SHA256_HEX])
{
	struct kw_hasher h;

	kw_hasher_init(&h);
	kw_hasher_addz(&h, "f", a);
	kw_hasher_addz(&h, "g", b);
	kw_hasher_final(&h, out);
}

static void test_hash(void)
{
	char a[KW_SHA256_HEX], b[KW_SHA256_HEX];
	struct kw_hasher h;

	/* FIPS 180-2, appendix B.1, and the empty message. */
	kw_sha256_hex("abc", 3, a);
	is_str(a, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "SHA-256");
	kw_sha256_hex(NULL, 0, a);
	is_str(a, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "of nothing");
	hash_pair("ab", "c", a);
	hash_pair("a", "bc", b);
	ok(strcmp(a, b) != 0, "(ab, c) and (a, bc) differ");
	hash_pair("ab", "c", b);
	is_str(a, b, "the same is the same");
	kw_hasher_init(&h);
	kw_hasher_addi(&h, "n", -1);
	kw_hasher_final(&h, a);
	is_int(strlen(a), 64, "a number hashes");
	kw_hasher_final(&h, a);
	is_str(a, "", "a second final gives nothing");
	ok(kw_xxh64("", 0, 0) == 0xef46db3751d8e999, "xxh64 of nothing, as its specification says");
}

static void test_clock(void)
{
	int64_t t = kw_now_ns();
	char out[32];

	kw_sleep_ns(2000000);
	ok(kw_now_ns() - t >= 2000000, "a sleep is at least as long as asked");
	is_str(kw_wall_text(0, out, sizeof(out)), "1970-01-01T00:00:00Z", "the first second");
	is_str(kw_wall_text(1798646655000, out, sizeof(out)), "2026-12-30T16:04:15Z", "another one");
	ok(kw_wall_ms() > 1700000000000, "now is later than 2023");
	ok(kw_random_u64() != kw_random_u64(), "two random numbers differ");
	ok(!kw_interrupted(), "not interrupted");
	kw_interrupt_install();
	raise(SIGINT);
	ok(kw_interrupted(), "interrupted, and alive");
}

/* Runs f in a child with stderr in a file; returns its text. */
static const char *stderr_of(void (*f)(void))
{
	static struct kw_buf b;
	int status;
	pid_t pid;

	temp_dir(); /* ours, not the child's */
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		int fd = open(temp_file("stderr"), O_WRONLY | O_CREAT | O_TRUNC, 0600);

		dup2(fd, 2);
		f();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	kw_buf_release(&b);
	kw_buf_init(&b, 1 << 16);
	kw_file_read(temp_file("stderr"), 1 << 16, &b, NULL);
	return b.ptr;
}

static void log_some(void)
{
	kw_log(KW_LOG_WARN, "low %s", "memory");
	kw_log(KW_LOG_INFO, "plain");
	kw_log(KW_LOG_DEBUG, "hidden");
}

static void log_quiet(void)
{
	kw_log_set_level(KW_LOG_ERROR);
	log_some();
	kw_progress("no");
	kw_progress_end();
}

static void log_progress(void)
{
	for (int i = 0; i <= 100; i++)
		kw_progress("round %d", i);
	kw_progress_end();
	kw_progress_end();
}

static void log_terminal(void)
{
	kw_progress("%s", "0123456789012345678901234567890123456789");
	kw_log(KW_LOG_INFO, "between");
	kw_progress("short");
	kw_progress_end();
}

/* The same with stderr on a terminal of 20 columns. */
static bool terminal_text(void (*f)(void), char *out, size_t out_bytes)
{
	struct winsize size = { .ws_row = 5, .ws_col = 20 };
	int host = posix_openpt(O_RDWR | O_NOCTTY), status;
	size_t len = 0;
	ssize_t n;
	pid_t pid;

	if (host < 0 || grantpt(host) < 0 || unlockpt(host) < 0 ||
	    ioctl(host, TIOCSWINSZ, &size) < 0)
		return false;
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		int fd = open(ptsname(host), O_RDWR | O_NOCTTY);

		dup2(fd, 2);
		f();
		tcdrain(2);
		_exit(0);
	}
	/* Reading fails when the last terminal descriptor is closed. */
	while (len < out_bytes - 1 && (n = read(host, out + len, out_bytes - 1 - len)) > 0)
		len += (size_t)n;
	out[len] = '\0';
	waitpid(pid, &status, 0);
	close(host);
	return true;
}

static void test_terminal(void)
{
	char text[512];

	setenv("TERM", "xterm", 1);
	if (!terminal_text(log_terminal, text, sizeof(text))) {
		skip(2, "no pseudo-terminal here");
		return;
	}
	is_str(text,
	       "\r\033[K0123456789012345678" /* cut at 19 of 20 columns */
	       "\r\033[Kbetween\r\n"
	       "\r\033[K0123456789012345678"
	       "\r\033[Kshort"
	       "\r\033[K",
	       "on a terminal one line is rewritten, a message goes above it, and nothing of it stays");
	setenv("TERM", "dumb", 1);
	terminal_text(log_terminal, text, sizeof(text));
	is_str(text, "0123456789012345678901234567890123456789\r\nbetween\r\n", "plain lines where none can be rewritten");
	unsetenv("TERM");
}

static void test_log(void)
{
	is_str(stderr_of(log_some), "warning: low memory\nplain\n", "levels; no colour in a file");
	is_str(stderr_of(log_quiet), "", "quiet");
	is_str(stderr_of(log_progress), "round 0\n", "one line of progress in a while");
	ok(!kw_color(open("/dev/null", O_RDONLY | O_CLOEXEC)), "no colour but on a terminal");
}

int main(void)
{
	test_hash();
	test_log();
	test_terminal();
	test_clock();
	return done();
}
