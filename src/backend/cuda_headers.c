/* NVRTC has no C or C++ library beside it. What kernels usually include from one is here: names
 * that NVRTC knows already (the mathematics, printf), or CCCL's own form of the header, which comes
 * with the toolkit. */
#include "backend/cuda.h"

#define EMPTY	     "#pragma once\n"
#define CCCL(header) "#pragma once\n#include <cuda/std/" header ">\n"
/* `std::` is what models write; CCCL's is cuda::std. */
#define CCCL_STD(header) CCCL(header) "namespace std { using namespace cuda::std; }\n"

static const char floats[] = "#pragma once\n"
			     "#ifndef FLT_MAX\n"
			     "#define FLT_MAX 3.402823466e+38f\n"
			     "#define FLT_MIN 1.175494351e-38f\n"
			     "#define FLT_EPSILON 1.192092896e-07f\n"
			     "#define FLT_MANT_DIG 24\n"
			     "#define DBL_MAX 1.7976931348623158e+308\n"
			     "#define DBL_MIN 2.2250738585072014e-308\n"
			     "#define DBL_EPSILON 2.2204460492503131e-016\n"
			     "#define DBL_MANT_DIG 53\n"
			     "#endif\n";
/* A kernel that is judged may not stop or print, so assertions are off as with NDEBUG. */
static const char assertions[] = "#undef assert\n#define assert(condition) ((void)0)\n";

/* What of CUB a kernel can use. The header itself brings in the parts that launch kernels, which NVRTC refuses. */
#define CUB(header) "#if __has_include(<cub/" header ".cuh>)\n#include <cub/" header ".cuh>\n#endif\n"
static const char cub[] = "#pragma once\n"
			  CUB("block/block_adjacent_difference") CUB("block/block_discontinuity") CUB("block/block_exchange")
			  CUB("block/block_histogram") CUB("block/block_load") CUB("block/block_merge_sort")
			  CUB("block/block_radix_sort") CUB("block/block_reduce") CUB("block/block_run_length_decode")
			  CUB("block/block_scan") CUB("block/block_shuffle") CUB("block/block_store")
			  CUB("warp/warp_exchange") CUB("warp/warp_load") CUB("warp/warp_merge_sort") CUB("warp/warp_reduce")
			  CUB("warp/warp_scan") CUB("warp/warp_store");

static const struct {
	const char *name, *text;
} headers[] = {
	{ "cub/cub.cuh", cub },
	{ "stdint.h", CCCL("cstdint") },
	{ "cstdint", CCCL_STD("cstdint") },
	{ "stddef.h", CCCL("cstddef") },
	{ "cstddef", CCCL_STD("cstddef") },
	{ "limits.h", CCCL("climits") },
	{ "climits", CCCL("climits") },
	{ "float.h", floats },
	{ "cfloat", floats },
	{ "math.h", EMPTY },
	{ "cmath", EMPTY },
	{ "string.h", EMPTY },
	{ "cstring", EMPTY },
	{ "stdlib.h", EMPTY },
	{ "cstdlib", EMPTY },
	{ "stdio.h", EMPTY },
	{ "cstdio", EMPTY },
	{ "assert.h", assertions },
	{ "cassert", assertions },
	{ "limits", CCCL_STD("limits") },
	{ "type_traits", CCCL_STD("type_traits") },
	{ "utility", CCCL_STD("utility") },
	{ "algorithm", CCCL_STD("algorithm") },
	{ "array", CCCL_STD("array") },
	{ "tuple", CCCL_STD("tuple") },
};

size_t kw_cuda_header_count(void)
{
	return sizeof(headers) / sizeof(headers[0]);
}

void kw_cuda_header(size_t i, const char **name, const char **text)
{
	*name = headers[i].name;
	*text = headers[i].text;
}
