/* What compute-sanitizer prints. The texts have the forms of its manual (2026.4), of reports of 2023 and 2024, and of the old
 * tools; kernels and figures are our own. */
#include "judge/sanitizer_log.h"

#include "tap.h"

static struct kw_sanitizer_log l;

static void test_memcheck(void)
{
	kw_sanitizer_parse("========= COMPUTE-SANITIZER\n"
			   "buffer 0 0x710fdc800000 1024\n"
			   "========= Invalid __global__ write of size 4 bytes\n"
			   "=========     at void ns::copy<float, (int)4>(const T1 *, T1 *)+0x90 in candidate.cu:12\n"
			   "=========     by thread (3,0,0) in block (7,1,0)\n"
			   "=========     Access to 0x710fdc800400 is out of bounds\n"
			   "=========     and is 1 bytes after the nearest allocation at 0x710fdc800000 of size 1,024 bytes\n"
			   "=========     Saved host backtrace up to driver entry point at kernel launch time\n"
			   "=========         Host Frame: main [0xae66] in kwright\n"
			   "=========\n"
			   "========= Invalid __global__ write of size 4 bytes\n"
			   "=========     at void ns::copy<float, (int)4>(const T1 *, T1 *)+0x90 in candidate.cu:12\n"
			   "=========     by thread (4,0,0) in block (7,1,0)\n"
			   "=========     Access to 0x710fdc800404 is out of bounds\n"
			   "=========\n"
			   "========= Invalid __global__ read of size 16 bytes\n"
			   "=========     at load(const float *)+0xb0 in candidate.cu:3\n"
			   "=========     by thread (0,0,0) in block (0,0,0)\n"
			   "=========     Address 0x710fdc800004 is misaligned\n"
			   "=========     and is inside the nearest allocation at 0x710fdc800000 of size 1,024 bytes\n"
			   "=========         Device Frame: middle(int)+0x30 in candidate.cu:20\n"
			   "=========         Device Frame: vectors(const float *, float *)+0x30 in candidate.cu:44\n"
			   "=========\n"
			   "========= ERROR SUMMARY: 3 errors\n",
			   &l);
	is_int(l.count, 2, "two places");
	ok(l.finished && l.errors == 3 && !l.trouble[0], "and the summary");
	is_int(l.hits[0].subclass, KW_S_OUT_OF_BOUNDS, "beyond a buffer");
	is_str(l.hits[0].what, "Invalid __global__ write of size 4 bytes", "what");
	is_str(l.hits[0].at.kernel, "ns::copy<float, (int)4>", "the kernel, without its parameters");
	is_str(l.hits[0].at.file, "candidate.cu", "the file");
	is_int(l.hits[0].at.line, 12, "the line");
	ok(l.hits[0].has_thread && l.hits[0].thread[0] == 3 && l.hits[0].block[0] == 7 && l.hits[0].block[1] == 1, "the thread");
	ok(l.hits[0].has_address && l.hits[0].address == 0x710fdc800400, "the address");
	ok(l.hits[0].has_allocation && l.hits[0].allocation == 0x710fdc800000 && l.hits[0].allocation_bytes == 1024 &&
		   l.hits[0].distance_bytes == 1 && !l.hits[0].before, "the allocation");
	is_int(l.hits[0].times, 2, "told twice");
	is_int(l.hits[1].subclass, KW_S_MISALIGNED, "misaligned");
	is_str(l.hits[1].at.kernel, "load", "in a function");
	is_int(l.hits[1].at.line, 3, "its line");
	is_str(l.hits[1].kernel, "vectors", "of the kernel that was launched");
	ok(l.hits[1].has_allocation && l.hits[1].distance_bytes == 0, "inside a buffer");

	kw_sanitizer_parse("========= Invalid __shared__ read of size 8 bytes\n"
			   "=========     at 0x120 in /home/me/src/bitwise.cuh:59:ns::impl<(unsigned long)8>::compare(const char *, const char *)\n"
			   "=========     by thread (32,0,0) in block (0,0,0)\n"
			   "=========     Address 0x1000 is out of bounds\n"
			   "========= Invalid __global__ read of size 8 bytes\n"
			   "=========     at 0x3b0 in void amortized<unsigned long,Degree<int=2048>>(unsigned long*,unsigned int)\n"
			   "=========     by thread (251,0,0) in block (0,0,0)\n"
			   "=========     Address 0x964000008 is out of bounds\n"
			   "=========     and is 262,132 bytes before the nearest allocation at 0x91edec0400 of size 16 bytes\n"
			   "========= Invalid __global__ write of size 4 bytes\n"
			   "=========     at unaligned_kernel():0x160 in memcheck_demo.cu:6\n"
			   "=========     by thread (0,0,0) in block (0,0,0)\n"
			   "=========     Address 0x7f6510c00001 is misaligned\n"
			   "=========     at mask in bulk.h:236\n"
			   "========= ERROR SUMMARY: 3 errors\n",
			   &l);
	is_int(l.count, 3, "of earlier versions");
	is_str(l.hits[0].at.kernel, "ns::impl<(unsigned long)8>::compare", "the function behind the line");
	is_str(l.hits[0].at.file, "/home/me/src/bitwise.cuh", "the file");
	is_int(l.hits[0].at.line, 59, "the line");
	is_str(l.hits[1].at.kernel, "amortized<unsigned long,Degree<int=2048>>", "a function without a line");
	is_int(l.hits[1].at.line, 0, "none");
	ok(l.hits[1].before && l.hits[1].distance_bytes == 262132, "before a buffer");
	is_str(l.hits[2].at.kernel, "unaligned_kernel", "an offset behind a colon");
	is_int(l.hits[2].at.line, 6, "the line");
	is_int(l.hits[2].subclass, KW_S_MISALIGNED, "misaligned");
}

static void test_racecheck(void)
{
	kw_sanitizer_parse("========= COMPUTE-SANITIZER\n"
			   "========= Error: Race reported between Write access at sum(int *, int *)+0x90 in /tmp/candidate.cu:41\n"
			   "=========     and Read access at sum(int *, int *)+0x100 in /tmp/candidate.cu:51 [508 hazards]\n"
			   "=========     and Write access at sum(int *, int *)+0x90 in /tmp/candidate.cu:41 [4 hazards]\n"
			   "=========\n"
			   "========= Warning: (Warp Level Programming) Potential RAW hazard detected at __shared__ 0x8c in block (0,0,0) :\n"
			   "=========     Write Thread (35,0,0) at warp(int *)+0x90 in candidate.cu:44\n"
			   "=========     Read Thread (32,0,0) at warp(int *)+0x120 in candidate.cu:56\n"
			   "=========     Current Value : 35\n"
			   "=========\n"
			   "========= RACECHECK SUMMARY: 2 hazards displayed (1 error, 1 warning)\n",
			   &l);
	is_int(l.count, 2, "two races");
	ok(l.hits[0].subclass == KW_S_RACE && !l.hits[0].warning, "an error");
	is_int(l.hits[0].at.line, 41, "the write");
	is_int(l.hits[0].other.line, 41, "the last of those it races with");
	is_int(l.hits[0].hazards, 512, "hazards together");
	ok(l.hits[1].warning && l.hits[1].at.line == 44 && l.hits[1].other.line == 56, "a warning, with both places");
	is_int(l.errors, 2, "summary");

	/* Case B08: two missing barriers, by an early version. */
	kw_sanitizer_parse("========= WARN: Race reported between Write access at 0x00000ed0 in ns::orient(int, int)\n"
			   "=========     and Read access at 0x00000150 in __fAtomicAdd [68 hazards]\n"
			   "========= WARN: Race reported between Write access at 0x00006210 in ns::orient(int, int)\n"
			   "=========     and Read access at 0x000003d0 in ns::Sort32<float>::step(int) [256 hazards]\n",
			   &l);
	is_int(l.count, 2, "two sites");
	is_int(l.hits[0].hazards, 68, "hazards of the first");
	is_int(l.hits[1].hazards, 256, "and of the second");
	is_str(l.hits[0].at.kernel, "ns::orient", "the kernel");
	is_str(l.hits[0].other.kernel, "__fAtomicAdd", "what it races with");
	is_str(l.hits[1].other.kernel, "ns::Sort32<float>::step", "and the second");
	ok(l.hits[0].warning && !l.finished, "as warnings, and without a summary");
}

static void test_the_others(void)
{
	kw_sanitizer_parse("========= COMPUTE-SANITIZER\n"
			   "========= Uninitialized __global__ memory read of size 4 bytes\n"
			   "=========     at add(int *)+0x70 in candidate.cu:41\n"
			   "=========     by thread (31,0,0) in block (1,0,0)\n"
			   "=========     Address 0x7f3c7ec000fc\n"
			   "=========\n"
			   "========= ERROR SUMMARY: 1 error\n",
			   &l);
	ok(l.count == 1 && l.hits[0].subclass == KW_S_UNINITIALISED && l.hits[0].address == 0x7f3c7ec000fc && l.hits[0].at.line == 41,
	   "initcheck");
	kw_sanitizer_parse("========= COMPUTE-SANITIZER\n"
			   "========= Barrier error detected. Divergent thread(s) in block.\n"
			   "=========     at [clone k(int *, int *)] outlineSync()+0x11f0 in test.cu:42\n"
			   "=========     by thread (32,0,0) in block (0,0,0)\n"
			   "=========         Device Frame: k(int *, int *)+0xe40 in test.cu:60\n"
			   "=========\n"
			   "========= ERROR SUMMARY: 1 error\n",
			   &l);
	ok(l.count == 1 && l.hits[0].subclass == KW_S_BARRIER && l.hits[0].at.line == 42, "synccheck");
	is_str(l.hits[0].kernel, "k", "of this kernel");
	kw_sanitizer_parse("========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n", &l);
	ok(l.finished && l.count == 0 && l.errors == 0 && !l.trouble[0], "nothing to say");
}

static void test_trouble(void)
{
	static const struct {
		const char *text, *trouble;
	} cases[] = {
		{ "========= COMPUTE-SANITIZER\n========= Error: No attachable process found. compute-sanitizer timed-out.\n", "No attachable" },
		{ "========= COMPUTE-SANITIZER\n========= Internal Sanitizer Error: The Sanitizer encountered an error\n", "Internal" },
		{ "Error: unrecognised option '--padding'\n", "unrecognised option" },
		{ "========= Error: Target application terminated before first instrumented API call\n", "Target application" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		kw_sanitizer_parse(cases[i].text, &l);
		ok(!l.finished && l.count == 0, "no result");
		has_str(l.trouble, cases[i].trouble, "and why");
	}
	kw_sanitizer_parse("", &l);
	ok(!l.finished && l.count == 0 && !l.trouble[0], "nothing at all");
	kw_sanitizer_parse("=========\n=========     at\n=========     by thread (\n========= Invalid __global__\n=========     at 0x\n"
			   "=========     at  in :\n=========     and is bytes after the nearest allocation at of size\n"
			   "========= Race reported between  access at\n=========     and  access at [\n", &l);
	ok(l.count <= KW_SANITIZER_HITS, "broken lines break nothing");
}

int main(void)
{
	test_memcheck();
	test_racecheck();
	test_the_others();
	test_trouble();
	return done();
}
