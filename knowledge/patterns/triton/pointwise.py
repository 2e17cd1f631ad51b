#@ pattern pointwise family=pointwise backend=triton
#@ title One fused pass over blocks of rows and columns
#@ why Every input is read once and every output written once: no operation between them touches memory.
#@ why A program's block is as wide as the row allows, so neighbouring lanes read whole lines, 16 bytes a thread.
#@ why Narrow rows share a block, so that a [rows, 3] tensor keeps all lanes busy.
#@ roles x=input y=output
#< plan
#@ kernel pointwise grid=(cdiv(rows, ROWS) * cdiv(cols, COLS)) args=(x, y, rows:i64, cols:i64)
#@ define COLS = min(BLOCK, cols <= 1 ? 1 : cols <= 2 ? 2 : cols <= 4 ? 4 : cols <= 8 ? 8 : cols <= 16 ? 16 : cols <= 32 ? 32 : cols <= 64 ? 64 : cols <= 128 ? 128 : cols <= 256 ? 256 : cols <= 512 ? 512 : cols <= 1024 ? 1024 : cols <= 2048 ? 2048 : cols <= 4096 ? 4096 : 8192)
#@ define ROWS = BLOCK / COLS
#>
#@ tune BLOCK in {512, 1024, 2048, 4096} default 1024
#@ tune num_warps in {4, 8} default 4
import triton
import triton.language as tl
#< helpers
#>


@triton.jit
#< signature
def pointwise(x, y, rows, cols, ROWS: tl.constexpr, COLS: tl.constexpr):
#>
    tiles = tl.cdiv(cols, COLS)
    task = tl.program_id(0).to(tl.int64)
    row = task // tiles * ROWS + tl.arange(0, ROWS)[:, None]
    col = task % tiles * COLS + tl.arange(0, COLS)[None, :]
    row_in = row < rows
    col_in = col < cols
    #< row
    #>
    #< body
    tl.store(y + row * cols + col, tl.load(x + row * cols + col, mask=row_in & col_in), mask=row_in & col_in)
    #>
