/* clock.h - time. Monotonic for measuring, wall clock for records only. */
#ifndef KW_BASE_CLOCK_H
#define KW_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

int64_t kw_now_ns(void);                             /* CLOCK_MONOTONIC */
int64_t kw_wall_ms(void);                            /* ms since 1970 */
void kw_sleep_ns(int64_t ns);
/* "2026-11-29T16:04:15Z"; out >= 32 bytes. Returns out. */
const char *kw_wall_text(int64_t wall_ms, char *out, size_t out_bytes);
/* 64 bits from the kernel's random source; aborts the process if there is none. */
uint64_t kw_random_u64(void);
/* True after SIGINT, SIGTERM or SIGHUP (a terminal that was closed; not under nohup) once kw_interrupt_install ran; long loops ask it. */
void kw_interrupt_install(void);
int kw_interrupted(void);

#endif
