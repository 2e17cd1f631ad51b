/* nvidia_ptx.h - the judge's own device code, as PTX that any driver compiles. Private to device/.
 *
 * Blocks of 256 threads; a block handles 1024 vectors of 16 bytes, and a thread has its four in flight at once.
 *     kw_read(const uint4 *x, uint64_t n, uint4 *never)      reads n vectors
 *     kw_write(uint4 *y, uint64_t n)                         writes n vectors
 *     kw_copy(uint4 *y, const uint4 *x, uint64_t n)
 *     kw_fma32(float *never, uint32_t rounds), kw_fma64(double *never, uint32_t rounds)
 *         each thread: 64 multiply-adds a round, in 8 chains
 * `never` is written under a condition that data does not meet, so that nothing is optimised away. */
#ifndef KW_DEVICE_NVIDIA_PTX_H
#define KW_DEVICE_NVIDIA_PTX_H

enum { KW_PTX_THREADS = 256, KW_PTX_BLOCK_VECTORS = 1024, KW_PTX_FMAS = 64 };
extern const char kw_nvidia_ptx[];

#endif
