#@ pattern column_reduce family=column_reduce backend=triton
#@ title Reductions down the columns: a program owns a strip of columns and walks its height
#@ why Memory runs along the columns: a strip is read in whole lines.
#@ why SEGS rows of lanes share the height, so that several loads are under way; they join once a pass.
#@ why One kernel, no workspace: the best form when there are columns enough.
#@ roles x=input y=output
#< plan
#@ kernel column_reduce grid=(rows * cdiv(cols, COLS)) args=(x, y, segs:i64, cols:i64)
#@ define COLS = min(STRIP, cols <= 1 ? 1 : cols <= 2 ? 2 : cols <= 4 ? 4 : cols <= 8 ? 8 : cols <= 16 ? 16 : cols <= 32 ? 32 : cols <= 64 ? 64 : cols <= 128 ? 128 : 256)
#>
#@ tune STRIP in {32, 64, 128, 256} default 64
#@ tune SEGS in {8, 16, 32, 64} default 32
#@ tune num_warps in {4, 8} default 4
import triton
import triton.language as tl
#< helpers
#>


@triton.jit
#< signature
def column_reduce(x, y, segs, cols, SEGS: tl.constexpr, COLS: tl.constexpr):
#>
    strips = tl.cdiv(cols, COLS)
    task = tl.program_id(0).to(tl.int64)
    row = task // strips
    col = task % strips * COLS + tl.arange(0, COLS)[None, :]
    col_in = col < cols
    #< row
    #>
    #< for pass
    #< lanes
    sum_lanes = tl.full((SEGS, COLS), 0.0, tl.float32)
    #>
    for first in range(0, segs, SEGS):
        seg = first + tl.arange(0, SEGS)[:, None]
        seg_in = seg < segs
        #< along
        #>
        #< body
        sum_lanes += tl.where(seg_in, tl.load(x + row * segs * cols + seg * cols + col, mask=seg_in & col_in), 0.0)
        #>
    #< fold
    sum_v = tl.sum(sum_lanes, axis=0, keep_dims=True)
    #>
    #>
    #< finish
    tl.store(y + row * cols + col, sum_v, mask=col_in)
    #>
