/* ceiling_loops.h - the loops whose speed is a ceiling: read, write, copy, multiply-add (ceilings.c times them).
 *
 * Each takes a part of a buffer; pointers 64-byte aligned, bytes a multiple of 2048. Built for the widest vectors of
 * this processor, chosen at run time. */
#ifndef KW_DEVICE_CEILING_LOOPS_H
#define KW_DEVICE_CEILING_LOOPS_H

#include <stddef.h>
#include <stdint.h>

/* Return something that depends on all of it, so that no compiler drops it. */
uint64_t kw_loop_read(const void *src, size_t bytes);
uint64_t kw_loop_read_streams(const void *src, size_t bytes);  /* four streams, each through a quarter */
uint64_t kw_loop_read_ahead(const void *src, size_t bytes);    /* two streams, each asking for what comes 1 KiB later */
void kw_loop_write(void *dst, size_t bytes);
void kw_loop_write_stream(void *dst, size_t bytes);         /* past the caches, where the machine can */
void kw_loop_copy(void *dst, const void *src, size_t bytes);
void kw_loop_copy_stream(void *dst, const void *src, size_t bytes);
void kw_loop_copy_streams(void *dst, const void *src, size_t bytes); /* four of them, each through a quarter */
/* `rounds` steps of independent chains; returns the number of floating point operations done. */
double kw_loop_fma_f32(int64_t rounds);
double kw_loop_fma_f64(int64_t rounds);

#endif
