/* Kernels for test_device_player.c, which compiles them into one library: honest ones, wrong ones, and ones that
 * try what a kernel has no business with. Not part of any program of ours. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#define K(name) void name(const float *x, float *y, int64_t n)
#define DO for (int64_t i = 0; i < n; i++) y[i] = 2 * x[i]
#define V(p) ((volatile float *)(uintptr_t)(p))
K(twice) { DO; }
K(openmp) {
#pragma omp parallel for
 for (int64_t i = 0; i < n; i++) y[i] = 2 * x[i]; }
K(maths) { for (int64_t i = 0; i < n; i++) y[i] = expf(logf(x[i] + 1)); }
K(prints) { printf("ok %lld\n", (long long)n); fflush(stdout); DO; }
K(allocates) { float *t = malloc(n * 4000); memset(t, 1, n * 4000); t = realloc(t, n * 8000); free(t); DO; }
static void *half(void *p) { *(float *)p = 1; return 0; }
K(joins) { pthread_t t; float f = 0; pthread_create(&t, 0, half, &f); pthread_join(t, 0); DO; if (f != 1) y[0] = -1; }
K(clocks) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); usleep(10); sched_yield(); DO; }
K(past_end) { DO; V(y)[n] = 1; }
K(before_start) { V(y)[-1] = 1; DO; }
K(far) { V(y)[n + 60000] = 1; }
K(reads_past) { y[0] = V(x)[n]; }
K(writes_input) { V(x)[3] = 1; DO; }
K(unlocks) { mprotect((void *)((uintptr_t)x & ~4095ul), 4096, PROT_READ | PROT_WRITE); V(x)[3] = 1; DO; }
K(null) { *V(0) = 1; }
#ifdef __SSE2__
#include <emmintrin.h>
K(misaligned) { _mm_store_si128((__m128i *)(void *)(uintptr_t)(y + 1), _mm_set1_epi32(1)); }
#else
K(misaligned) { DO; }
#endif
#ifdef __x86_64__
K(wild) { V(0x4141414141414140)[1] = 1; }
K(wild_call) { ((void (*)(void))0x4141414141414141)(); }
K(privileged) { __asm__ volatile("hlt"); }
#endif
K(jumps) { static char data[16]; ((void (*)(void))(uintptr_t)data)(); }
K(unmaps) { munmap((void *)((uintptr_t)x & ~4095ul), 2 * 4096); DO; }
K(divides) { volatile int z = 0; y[0] = 7 / z; }
K(illegal) { __builtin_trap(); }
K(aborts) { abort(); }
K(raises) { raise(SIGTERM); }
K(kills_itself) { kill(getpid(), SIGKILL); DO; }
K(stops_itself) { raise(SIGSTOP); DO; }
K(exits) { exit(0); }
K(exits_at_once) { _exit(7); }
K(counts) { for (int64_t i = 0; i < n * 300000; i++) __asm__ volatile(""); DO; }
K(loops) { for (;;) __asm__ volatile(""); }
K(slow) { usleep(250000); DO; }
K(forks) { if (fork() == 0) _exit(0); DO; }
K(vforks) { if (vfork() == 0) _exit(0); DO; }
K(spawns) { execl("/bin/true", "true", (char *)0); DO; }
K(opens) { int f = open("/etc/passwd", O_RDONLY); DO; y[0] = f; }
K(writes_file) { FILE *f = fopen("verdict", "w"); DO; if (f) y[0] = -1; }
K(reads_maps) { FILE *f = fopen("/proc/self/maps", "r"); DO; if (f) y[0] = -1; }
K(sockets) { int s = socket(AF_INET, SOCK_STREAM, 0); DO; y[0] = s; }
K(ptraces) { ptrace(PTRACE_ATTACH, getppid(), 0, 0); DO; }
K(kills_parent) { kill(getppid(), SIGKILL); DO; }
K(kills_all) { kill(-1, SIGKILL); DO; }
K(reads_parent) { char b[8]; struct { void *p; size_t n; } v = { b, 8 }; syscall(SYS_process_vm_readv, getppid(), &v, 1, &v, 1, 0); DO; }
K(dumpable) { syscall(SYS_prctl, 4, 1, 0, 0, 0); DO; }
K(limits) { struct rlimit r = { 1 << 20, 1 << 20 }; setrlimit(RLIMIT_AS, &r); DO; }
K(memfd) { memfd_create("m", 0); DO; }
K(uring) { syscall(425, 1, 0); DO; }
K(old_call) {
#ifdef __x86_64__
 int r; __asm__ volatile("int $0x80" : "=a"(r) : "a"(20) : "memory"); y[1] = r;
#endif
 DO; }
K(executable) { void *p = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); DO; y[0] = p == MAP_FAILED; }
K(rewrites_code) { mprotect((void *)((uintptr_t)__builtin_return_address(0) & ~4095ul), 4096, PROT_READ | PROT_WRITE | PROT_EXEC); DO; }
K(moves_memory) { mremap((void *)((uintptr_t)x & ~4095ul), 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)((uintptr_t)y & ~4095ul)); }
K(punches) { madvise((void *)((uintptr_t)y & ~4095ul), 4096, MADV_REMOVE); DO; }
K(handles) { signal(SIGSEGV, SIG_IGN); DO; }
K(continues) { signal(SIGCONT, SIG_IGN); DO; }
K(alarms) { struct itimerval t = { { 0, 1000 }, { 0, 1000 } }; setitimer(ITIMER_REAL, &t, 0); DO; }
K(loads) { void *l = dlopen("libz.so.1", RTLD_NOW); DO; y[0] = l != 0; }
K(unshares) { unshare(0x10000000); DO; }
K(floods) { char *p; size_t c = 0; while ((p = malloc(1 << 20))) { memset(p, 1, 1 << 20); if (++c > 1000) break; } DO; if (c > 1000) y[0] = -1; }
static void *wait_a_bit(void *p) { usleep(20000); return p; }
K(floods_threads) { pthread_t t; int c = 0; while (c < 5000 && pthread_create(&t, 0, wait_a_bit, 0) == 0) c++; DO; y[0] = c; }
K(writes_channel) { write(3, "ok", 2); DO; }
K(forges) { char m[1024] = { 0 }; for (int i = 4; i < 1024; i++) send(3, m, i, 0x40); DO; }
K(closes) { close(3); DO; }
K(answers_twice) { static char m[200]; m[0] = 0x7d; m[1] = 0x72; send(3, m, sizeof(m), 0x40); DO; }
static struct { float *y; int64_t n; } job;
static void *later(void *p) { usleep(300); for (int c = 0;; c++) { for (int64_t i = 0; i < job.n; i++) job.y[i] = i + c; usleep(100); } return p; }
K(late) { pthread_t t; job.y = y; job.n = n; DO; pthread_create(&t, 0, later, 0); }
static void *spin(void *p) { for (;;) __asm__ volatile(""); return p; }
K(spins) { pthread_t t; pthread_create(&t, 0, spin, 0); DO; }
K(nothing) { (void)x; (void)y; (void)n; }
void scalars(const float *x, float *y, int8_t a, float b, double c, int64_t d, int32_t e, float f, int64_t g, int64_t h,
  float i, double j, float k, float l, float m, float o, int64_t p, double q)
{ (void)x; y[0] = a; y[1] = b; y[2] = (float)c; y[3] = d; y[4] = e; y[5] = f; y[6] = g; y[7] = h; y[8] = i; y[9] = (float)j;
  y[10] = k; y[11] = l; y[12] = m; y[13] = o; y[14] = p; y[15] = (float)q; }
void scratch(const float *x, float *y, int64_t n, float *w) { float s = 0; for (int64_t i = 0; i < 64; i++) { s += w[i]; w[i] = 1; }
  DO; y[0] = s; }

/* It finds the command and its nonce in the player's data, answers in the player's name, and computes afterwards. */
static uint64_t nonce;
static int look(struct dl_phdr_info *i, size_t size, void *arg)
{
  (void)size; (void)arg;
  for (int k = 0; k < i->dlpi_phnum && i->dlpi_name[0] == 0; k++)
    if (i->dlpi_phdr[k].p_type == PT_LOAD && (i->dlpi_phdr[k].p_flags & PF_W))
      for (size_t o = 0; o + 16 < i->dlpi_phdr[k].p_memsz; o += 8) {
        const uint32_t *w = (const uint32_t *)(i->dlpi_addr + i->dlpi_phdr[k].p_vaddr + o);
        if (w[0] == 0x6b7b && w[1] == 1) memcpy(&nonce, w + 2, 8);
      }
  return 1;
}
K(answers_first)
{
  char m[200] = { 0x7d, 0x72 };
  nonce = 0;
  dl_iterate_phdr(look, 0);
  memcpy(m + 8, &nonce, 8);
  if (nonce) send(3, m, sizeof(m), 0x40);
  usleep(2000);
  DO;
  for (;;) usleep(1000);
}
