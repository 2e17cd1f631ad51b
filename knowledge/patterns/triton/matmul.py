#@ pattern matmul family=matmul backend=triton
#@ title Tiled matrix product on the matrix units, sums in f32, the epilogue in the tile
#@ why Tiles of f16 and bf16 go to tensor cores and their sums stay f32; f32 is multiplied in full precision.
#@ why Loads of later steps are under way while a step computes: num_stages of them lie in shared memory.
#@ why Programs run in groups of GROUP tiles down, so that those that run together share rows of A and columns of B in L2.
#@ why Work on the operands happens on their way in; work on the result happens before it leaves the registers.
#@ roles a=input b=input y=output
#< plan
#@ kernel matmul grid=(cdiv(m, TILE_M) * cdiv(n, TILE_N) * batches) args=(a, b, y, batches:i32, m:i32, n:i32, k:i32)
#@ require m * k <= 2147483647 && n * k <= 2147483647 && m * n <= 2147483647
#>
#@ tune TILE_M in {32, 64, 128} default 64
#@ tune TILE_N in {32, 64, 128, 256} default 64
#@ tune DEPTH in {32, 64} default 32
#@ tune num_stages in {2, 3, 4} default 3
#@ tune num_warps in {4, 8} default 4
#@ define GROUP = 8
#@ where TILE_M * TILE_N <= 4096 * num_warps
#@ where TILE_M * TILE_N >= 256 * num_warps
import triton
import triton.language as tl
#< helpers
#>


@triton.jit
#< signature
def matmul(a, b, y, batches, m, n, k, TILE_M: tl.constexpr, TILE_N: tl.constexpr, DEPTH: tl.constexpr, GROUP: tl.constexpr):
#>
    tiles_m = tl.cdiv(m, TILE_M)
    tiles_n = tl.cdiv(n, TILE_N)
    task = tl.program_id(0)
    batch = (task // (tiles_m * tiles_n)).to(tl.int64)
    tile = task % (tiles_m * tiles_n)
    first_m = tile // (GROUP * tiles_n) * GROUP
    height = tl.minimum(tiles_m - first_m, GROUP)
    i = (first_m + tile % (GROUP * tiles_n) % height) * TILE_M + tl.arange(0, TILE_M)[:, None]
    j = tile % (GROUP * tiles_n) // height * TILE_N + tl.arange(0, TILE_N)[None, :]
    i_in = i < m
    j_in = j < n
    sums = tl.zeros((TILE_M, TILE_N), tl.float32)
    for first in range(0, k, DEPTH):
        p = first + tl.arange(0, DEPTH)[None, :]
        q = first + tl.arange(0, DEPTH)[:, None]
        p_in = p < k
        q_in = q < k
        #< load_a
        a_part = tl.load(a + batch * (m * k) + i * k + p, mask=i_in & p_in, other=0.0)
        #>
        #< load_b
        b_part = tl.load(b + batch * (k * n) + q * n + j, mask=q_in & j_in, other=0.0)
        #>
        sums = tl.dot(a_part, b_part, sums, input_precision="ieee")
    #< body
    tl.store(y + batch * (m * n) + i * n + j, sums, mask=i_in & j_in)
    #>
