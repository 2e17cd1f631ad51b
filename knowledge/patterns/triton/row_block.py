#@ pattern row_block family=row_reduce backend=triton
#@ title Rows that fit a program's registers: read once, reduced and written from there
#@ why The row is read from memory once, whatever is computed of it: every pass over it runs in registers.
#@ why Reductions join lanes by shuffles and, between warps, by a few words of shared memory.
#@ why Lanes beyond the row hold the neutral element of each reduction, so nothing depends on what memory has there.
#@ why Short rows share a program, ROWS at a time.
#@ roles x=input y=output
#< plan
#@ kernel row_block grid=(cdiv(rows, ROWS)) args=(x, y, rows:i64, (cols) * (segs):i64)
#@ define SIZE = segs * cols
#@ define COLS = SIZE <= 1 ? 1 : SIZE <= 2 ? 2 : SIZE <= 4 ? 4 : SIZE <= 8 ? 8 : SIZE <= 16 ? 16 : SIZE <= 32 ? 32 : SIZE <= 64 ? 64 : SIZE <= 128 ? 128 : SIZE <= 256 ? 256 : SIZE <= 512 ? 512 : SIZE <= 1024 ? 1024 : SIZE <= 2048 ? 2048 : SIZE <= 4096 ? 4096 : SIZE <= 8192 ? 8192 : SIZE <= 16384 ? 16384 : 32768
#@ define ROWS = COLS >= BLOCK ? 1 : BLOCK / COLS
#@ require SIZE <= 32768
#>
#@ tune BLOCK in {512, 1024, 2048, 4096} default 1024
#@ tune num_warps in {2, 4, 8, 16} default 4
import triton
import triton.language as tl
#< helpers
#>


@triton.jit
#< signature
def row_block(x, y, rows, size, ROWS: tl.constexpr, COLS: tl.constexpr):
#>
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    at = tl.arange(0, COLS)[None, :]
    row_in = row < rows
    at_in = at < size
    #< row
    #>
    #< body
    x_v = tl.load(x + row * size + at, mask=row_in & at_in)
    exp_v = tl.exp(x_v - tl.max(tl.where(at_in, x_v, float("-inf")), axis=1, keep_dims=True))
    sum_v = tl.sum(tl.where(at_in, exp_v, 0.0), axis=1, keep_dims=True)
    tl.store(y + row * size + at, exp_v / sum_v, mask=row_in & at_in)
    #>
