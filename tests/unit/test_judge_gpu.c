/* The judge's own device code builds for the GPUs that the toolkit knows; what it computes is tested on one (tests/gpu). */
#include "tap.h"

#include "backend/backend.h"
#include "backend/cuda.h"
#include "base/arena.h"
#include "base/file.h"

#include <string.h>

static void builds_for(const char *arch, char *text, size_t len)
{
	struct kw_candidate c = { .name = "gpu.cu", .backend = "cuda", .source = text, .source_len = len, .origin = "test" };
	struct kw_bound_plan none = { .applicable = true };
	struct kw_build_opts o = { .arch = arch, .trusted = true, .no_cache = true };
	struct kw_build_result r;
	struct kw_error err = { 0 };

	if (kw_build(kw_backend_find("cuda"), &c, &none, &o, &r, &err) != KW_OK) {
		ok(false, "%s: %s", arch, err.text);
		return;
	}
	ok(r.cls == KW_V_OK && r.artefact.code_bytes > 0, "it builds for %s", arch);
	for (size_t i = 0; i < r.artefact.diagnostic_count; i++)
		diag("%d: %s", r.artefact.diagnostics[i].line, r.artefact.diagnostics[i].message);
	kw_build_result_release(&r);
}

int main(void)
{
	struct kw_cuda_toolkit kit;
	struct kw_error err = { 0 };
	struct kw_arena a;
	char *text = NULL;
	size_t len = 0;

	kw_arena_init(&a, 1 << 20);
	ok(kw_data_read("src/judge/gpu.cu", &a, &text, &len, &err) == KW_OK && len > 0, "gpu.cu is in the program");
	if (kw_cuda_find(NULL, &kit, &err) != KW_OK) {
		skip(2, "no CUDA toolkit is installed");
	} else {
		builds_for("sm_80", text, len);
		builds_for("sm_90a", text, len);
	}
	kw_arena_release(&a);
	return done();
}
