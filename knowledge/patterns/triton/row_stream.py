#@ pattern row_stream family=row_reduce backend=triton
#@ title Rows of any length, read piece by piece once for each reduction
#@ why Lanes keep running results of their own, so a piece costs no exchange between threads; they join once a pass.
#@ why Later passes find the row in L2 as long as the rows under way fit there.
#@ why Lanes beyond the row take in the neutral element.
#@ roles x=input y=output
#< plan
#@ kernel row_stream grid=(cdiv(rows, ROWS)) args=(x, y, rows:i64, (cols) * (segs):i64)
#@ define SIZE = segs * cols
#>
#@ tune COLS in {1024, 2048, 4096, 8192} default 4096
#@ tune ROWS in {1, 2} default 1
#@ tune num_warps in {4, 8, 16} default 8
import triton
import triton.language as tl
#< helpers
#>


@triton.jit
#< signature
def row_stream(x, y, rows, size, ROWS: tl.constexpr, COLS: tl.constexpr):
#>
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    row_in = row < rows
    #< row
    #>
    #< for pass
    #< lanes
    sum_lanes = tl.full((ROWS, COLS), 0.0, tl.float32)
    #>
    for first in range(0, size, COLS):
        at = first + tl.arange(0, COLS)[None, :]
        at_in = at < size
        #< along
        #>
        #< body
        sum_lanes += tl.where(at_in, tl.load(x + row * size + at, mask=row_in & at_in), 0.0)
        #>
    #< fold
    sum_v = tl.sum(sum_lanes, axis=1, keep_dims=True)
    #>
    #>
    #< finish
    tl.store(y + row, sum_v, mask=row_in)
    #>
