/* nvidia_ptx.h - the judge's own device code, as PTX that any driver compiles. Private to device/.
 *
 * Blocks of 256 threads. Reading and writing, a block handles 1024 vectors of 16 bytes, and a thread has its four in flight at
 * once; copying, each thread has one: on an H200 6% faster than four from 64 MiB on, and no slower at 1 MiB.
 *     kw_read(const uint4 *x, uint64_t n, uint4 *never)      reads n vectors
 *     kw_write(uint4 *y, uint64_t n)                         writes n vectors
 *     kw_copy(uint4 *y, const uint4 *x, uint64_t n)
 *     kw_fma32(float *never, uint32_t rounds), kw_fma64(double *never, uint32_t rounds)
 *         each thread: 64 multiply-adds a round, in 8 chains
 * `never` is written under a condition that data does not meet, so that nothing is optimised away. */
#ifndef KW_DEVICE_NVIDIA_PTX_H
#define KW_DEVICE_NVIDIA_PTX_H

enum { KW_PTX_THREADS = 256, KW_PTX_BLOCK_VECTORS = 1024, KW_PTX_COPY_VECTORS = 256, KW_PTX_FMAS = 64 };
extern const char kw_nvidia_ptx[];
/*     kw_marks(const uint8_t *base, uint64_t end, uint64_t from, uint64_t to, uint32_t mark, uint64_t found[2])
 *         looks whether byte i is that of the mark, at i % 4, for i in 0..end and in from..to; found[0]: the least i behind
 *         from where it is not; found[1]: the greatest i before end, plus 1
 *     kw_spoil(uint32_t bytes, uint32_t bits)                fills a block's dynamic shared memory
 * By itself, for players: they load nothing else of ours. */
extern const char kw_nvidia_spoil_ptx[];

#endif
