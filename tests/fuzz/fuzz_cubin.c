/* Any bytes: no cubin, or one whose kernels, globals and calls can be asked for; and as a compiler's log. */
#include "backend/cubin.h"
#include "backend/cuda.h"
#include "backend/sass.h"
#include "base/alloc.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kw_cubin c;
	struct kw_cubin_kernel k;
	struct kw_cuda_usage usage[4];
	struct kw_diagnostics d;
	struct kw_buf list;
	bool several;
	int64_t bytes;
	char *text;

	if (kw_cubin_open(&c, data, size)) {
		kw_buf_init(&list, 4096);
		kw_cubin_list_kernels(&c, &list);
		kw_buf_release(&list);
		if (kw_cubin_kernel(&c, "k", &k, &several))
			must(k.facts.symbol[0] && k.param_count <= KW_CUBIN_MAX_PARAMS && k.facts.static_smem_bytes >= 0);
		for (size_t i = 0; i < 4; i++) {
			kw_cubin_undefined(&c, i);
			kw_cubin_global(&c, i, &bytes);
		}
	}
	text = kw_calloc(1, size + 1);
	must(text != NULL);
	memcpy(text, data, size);
	kw_diagnostics_init(&d, KW_CUDA_FILE, "f.cu");
	must(kw_cuda_log_parse(&d, text, text, NULL, usage, 4) <= 4);
	for (size_t i = 0; i < d.count; i++)
		must(d.list[i].line >= 0 && d.list[i].column >= 0);
	kw_diagnostics_release(&d);
	json_decref(kw_sass_parse(text, size));
	kw_free(text);
	return 0;
}
