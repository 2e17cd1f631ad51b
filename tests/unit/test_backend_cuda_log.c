/* What CUDA's compilers print, as they printed it (CUDA 13.0), and the candidate's own text. No
 * toolkit is needed. */
#include "backend/cuda.h"
#include "backend/sass.h"
#include "backend/source.h"

#include "tap.h"

static struct kw_diagnostics d;
static struct kw_cuda_usage usage[8];

static size_t parse(const char *text, const char *source)
{
	kw_diagnostics_release(&d);
	kw_diagnostics_init(&d, KW_CUDA_FILE, "mine.cu");
	return kw_cuda_log_parse(&d, text, source, NULL, usage, 8);
}

static void is_diagnostic(size_t i, enum kw_severity severity, enum kw_subclass cls,
			  const char *file, int line, int column, const char *message)
{
	const struct kw_diagnostic *one = &d.list[i];

	if (!ok(i < d.count, "there is a message %zu", i))
		return;
	ok(one->severity == severity && one->cls == cls, "%s of class %s", one->message,
	   kw_subclass_name(one->cls));
	ok(strcmp(one->file, file) == 0 && one->line == line && one->column == column,
	   "at %s:%d:%d", one->file, one->line, one->column);
	is_str(one->message, message, "its text");
}

static void test_front_end(void)
{
	is_int((int64_t)parse(
		       "candidate.cu(3): error: identifier \"zz\" is undefined\n"
		       "  \textern \"C\" __global__ void k(float*x){\tint y = 3;\tx[0] = zz; }\n"
		       "  \t                                      \t          \t       ^\n"
		       "\n"
		       "candidate.cu(12): warning #177-D: variable \"y\" was declared but never "
		       "referenced\n"
		       "      int y;\n"
		       "          ^\n"
		       "\n"
		       "Remark: The warnings can be suppressed with \"-diag-suppress "
		       "<warning-number>\"\n"
		       "\n"
		       "1 error detected in the compilation of \"candidate.cu\".\n",
		       NULL),
	       0, "no function is told of");
	is_int((int64_t)d.count, 2, "two messages");
	is_diagnostic(0, KW_ERROR, KW_S_UNDEFINED, "mine.cu", 3, 59,
		      "identifier \"zz\" is undefined");
	is_diagnostic(1, KW_WARNING, KW_S_TYPE, "mine.cu", 12, 9,
		      "variable \"y\" was declared but never referenced");

	parse("candidate.cu(1): catastrophic error: cannot open source file \"nope.h\"\n"
	      "  #include <nope.h>\n"
	      "                   ^\n"
	      "\n"
	      "1 catastrophic error detected in the compilation of \"candidate.cu\".\n"
	      "Compilation terminated.\n",
	      NULL);
	is_int((int64_t)d.count, 1, "a header");
	is_diagnostic(0, KW_ERROR, KW_S_INCLUDE, "mine.cu", 1, 18,
		      "cannot open source file \"nope.h\"");

	/* About a header, because of the candidate's line 5. */
	parse("/usr/local/cuda/include/cccl/cuda/std/__tuple_dir/tuple_element.h(60): error: "
	      "static assertion failed with "
	      "\"tuple_element index out of range\"\n"
	      "    static_assert(_Ip < sizeof...(_Types), \"tuple_element index out of range\");\n"
	      "    ^\n"
	      "          detected during:\n"
	      "            instantiation of class \"cuda::std::__4::tuple_element<_Ip> [with "
	      "_Ip=5UL]\" at line 37\n"
	      "            instantiation of type \"cuda::std::__4::__tuple_element_t<5UL>\" at "
	      "line 121 of /usr/x.h\n"
	      "            instantiation of class \"cuda::std::__4::tuple_element<_Ip>\" at line 5 "
	      "of candidate.cu\n",
	      NULL);
	is_diagnostic(0, KW_ERROR, KW_S_TYPE, "mine.cu", 5, 1,
		      "static assertion failed with \"tuple_element index out of range\"");

	parse("candidate.cu(1): Error: Formal parameter space overflowed (40008 bytes required, "
	      "max 32764 bytes allowed) in "
	      "function k\n",
	      NULL);
	is_diagnostic(0, KW_ERROR, KW_S_BUILD_RESOURCES, "mine.cu", 1, 0,
		      "Formal parameter space overflowed (40008 bytes required, max 32764 bytes "
		      "allowed) in function k");
	parse("v.cu:1:10: fatal error: nope.h: No such file or directory\n    1 | #include "
	      "<nope.h>\n",
	      NULL);
	is_diagnostic(0, KW_ERROR, KW_S_INCLUDE, "v.cu", 1, 10,
		      "nope.h: No such file or directory");
	parse("nvrtc: error: failed to open libnvrtc-builtins.so.13.0.\n", NULL);
	is_int((int64_t)d.count, 1, "NVRTC's own trouble is a message");
}

static void test_assembler(void)
{
	static const char source[] = "void k() {\n\tasm(\"wgmma.fence.sync.aligned;\");\n}\n";

	parse("ptxas application ptx input, line 34; error   : Instruction 'wgmma.fence' not "
	      "supported on .target 'sm_90'\n"
	      "ptxas fatal   : Ptx assembly aborted due to errors\n",
	      source);
	is_int((int64_t)d.count, 1, "the last words say nothing");
	is_diagnostic(0, KW_ERROR, KW_S_BUILD_ARCHITECTURE, "mine.cu", 2, 7,
		      "Instruction 'wgmma.fence' not supported on .target 'sm_90'");
	parse("ptxas fatal   : Unresolved extern function 'foo'\n", "float foo(float);\n");
	is_diagnostic(0, KW_ERROR, KW_S_UNDEFINED, "mine.cu", 1, 7,
		      "Unresolved extern function 'foo'");
	parse("ptxas application ptx input, line 28; fatal   : Parsing error near 'bar': syntax "
	      "error\n",
	      "foobar bars");
	is_diagnostic(0, KW_ERROR, KW_S_SYNTAX, "mine.cu", 0, 0,
		      "Parsing error near 'bar': syntax error");
	parse("ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored; unable to "
	      "determine register count at "
	      "entry.\n",
	      "\n\n\tsetmaxnreg");
	is_diagnostic(0, KW_WARNING, KW_S_TYPE, "mine.cu", 3, 2,
		      "(C7508) Potential Performance Loss: 'setmaxnreg' ignored; unable to "
		      "determine register count at entry.");
	parse("ptxas warning : For profile sm_90a adjusting per thread register count of 16 to "
	      "lower bound of 24\n",
	      NULL);
	ok(d.count == 1 && d.list[0].severity == KW_WARNING, "a warning");
}

/* Sizes in hex, another limit for each architecture, the system's bytes, a mangled name. */
static void test_too_much_shared(void)
{
	static const struct {
		const char *line, *message;
	} cases[] = {
		{ "ptxas error   : Entry function '_Z6updateIdEvPT_' uses too much shared data "
		  "(0xe810 bytes, 0xc000 max)\n",
		  "kernel 'update' declares 59408 bytes of shared memory; at most 49152 can be "
		  "declared. " },
		{ "ptxas error   : Entry function '_Z4tileILi128ELi32ELb1EEvPKc' uses too much "
		  "shared data (0xc400 bytes, 0xc000 "
		  "max)\n",
		  "kernel 'tile' declares 50176 bytes of shared memory; at most 49152 can be "
		  "declared. " },
		{ "ptxas error   : Entry function 'fused_conv2d_add_kernel' uses too much shared "
		  "data (0x2ab44 bytes, 0x29000 "
		  "max)\n",
		  "kernel 'fused_conv2d_add_kernel' declares 174916 bytes of shared memory; at "
		  "most 167936 can" },
		{ "ptxas error   : Entry function 'scanExclusive' uses too much shared data "
		  "(0x4010 bytes + 0x10 bytes system, "
		  "0x4000 max)\n",
		  "kernel 'scanExclusive' declares 16416 bytes of shared memory (with the "
		  "system's); at most "
		  "16384 can" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		parse(cases[i].line, NULL);
		ok(d.count == 1 && d.list[0].cls == KW_S_BUILD_RESOURCES &&
			   strncmp(d.list[0].message, cases[i].message, strlen(cases[i].message)) ==
				   0,
		   "%s", d.count ? d.list[0].message : "no message");
	}
}

static void test_usage(void)
{
	size_t n =
		parse("ptxas info    : 20 bytes gmem\n"
		      "ptxas info    : Compiling entry function '_Z2tmILi3EEvPf' for 'sm_90a'\n"
		      "ptxas info    : Function properties for _Z2tmILi3EEvPf\n"
		      "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes "
		      "spill loads\n"
		      "ptxas info    : Used 8 registers, used 0 barriers\n"
		      "ptxas info    : Compile time = 2.123 ms\n"
		      "ptxas info    : Compiling entry function 'soft' for 'sm_90a'\n"
		      "ptxas info    : Function properties for soft\n"
		      "    272 bytes stack frame, 256 bytes spill stores, 260 bytes spill loads\n"
		      "ptxas info    : Used 24 registers, used 1 barriers, 272 bytes cumulative "
		      "stack size, 1024 bytes smem\n",
		      NULL);

	is_int((int64_t)n, 2, "two functions");
	ok(strcmp(usage[0].symbol, "_Z2tmILi3EEvPf") == 0 && usage[0].registers == 8 &&
		   usage[0].smem_bytes == 0,
	   "one");
	ok(strcmp(usage[1].symbol, "soft") == 0 && usage[1].stack_bytes == 272 &&
		   usage[1].spill_store_bytes == 256 && usage[1].spill_load_bytes == 260 &&
		   usage[1].registers == 24 && usage[1].smem_bytes == 1024,
	   "the other, with nvcc's form of the line");
	is_int((int64_t)d.count, 0, "no message");
}

/* Any text is read to its end. */
/* Where the compiler could read a file, its words go no further. */
static void test_other_files(void)
{
	static const struct kw_cuda_toolkit kit = { .include = { "/usr/local/cuda/include", "" } };
	static const char *const files[] = { "/etc/passwd", "/usr/local/cuda/include/../../../../etc/passwd",
					     "/usr/local/cuda/includes" };
	char text[300];

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		kw_diagnostics_release(&d);
		kw_diagnostics_init(&d, KW_CUDA_FILE, "mine.cu");
		snprintf(text, sizeof(text), "%s(1): error: identifier \"root\" is undefined\n  root:x:0:0\n  ^\n", files[i]);
		kw_cuda_log_parse(&d, text, NULL, &kit, usage, 8);
		ok(d.count == 1 && d.list[0].cls == KW_S_INCLUDE && !strstr(d.log.ptr, "root"), "%s", files[i]);
	}
	kw_diagnostics_release(&d);
	kw_diagnostics_init(&d, KW_CUDA_FILE, "mine.cu");
	kw_cuda_log_parse(&d, "/usr/local/cuda/include/mma.h(1): error: what\ncandidate.cu(1): error: what\n", NULL, &kit,
			  usage, 8);
	ok(d.count == 2 && strcmp(d.list[0].message, "what") == 0 && strcmp(d.list[1].message, "what") == 0,
	   "the toolkit's and the candidate's own are told");
}

static void test_sass(void)
{
	static const char text[] = "//--------------------- .text.soft                --------------------------\n"
				   "soft:\n"
				   "        /*0000*/                   LDC R1, c[0x0][0x28] ;\n"
				   "        /*0050*/              @!P1 LDG.E.128.CONSTANT R4, desc[UR8][R2.64] ;\n"
				   "        /*0060*/                   LDG.E.U16 R5, desc[UR8][R2.64] ;\n"
				   "        /*0070*/                   LDG.E R6, desc[UR8][R2.64] ;\n"
				   "        /*0080*/                   DFMA R8, R4, R6, R8 ;\n"
				   "        /*0090*/                   F2F.F64.F32 R10, R4 ;\n"
				   "        /*00a0*/              @P0  STL.64 [R1+0x8], R4 ;\n"
				   "        /*00b0*/                   HGMMA.64x8x16.F32 R24, gdesc[UR4], R24 ;\n"
				   "        /*00c0*/                   UTCHMMA gdesc[UR4] ;\n"
				   "        /*00d0*/                   STG.E.64 desc[UR8][R2.64], R4 ;\n"
				   "        /*00d0*/                   I2F.U32.RP R9, UR4 ;\n"
				   "        /*00d0*/                   UI2F.U32.RP UR4, UR6 ;\n"
				   "        /*00d0*/                   I2F R5, R0 ;\n"
				   "        /*00d0*/                   I2FP.F32.S32 R5, R0 ;\n"
				   "        /*00e0*/                   NOP;\n"
				   "//--------------------- .text._Z1gv                --------------------------\n"
				   "        /*0000*/                   EXIT ;\n"
				   "//--------------------- .nv.shared.soft\n"
				   "        /*0010*/\n";
	json_t *j = kw_sass_parse(text, sizeof(text) - 1), *k = json_object_get(j, "soft");

	is_int((int64_t)json_object_size(j), 2, "two kernels");
	is_int(kw_json_get_i64(k, "instructions", 0), 14, "instructions without padding");
	ok(kw_json_get_i64(json_object_get(k, "global_loads"), "128", 0) == 1 &&
		   kw_json_get_i64(json_object_get(k, "global_loads"), "16", 0) == 1 &&
		   kw_json_get_i64(json_object_get(k, "global_loads"), "32", 0) == 1 &&
		   kw_json_get_i64(json_object_get(k, "global_stores"), "64", 0) == 1, "widths");
	is_int(kw_json_get_i64(json_object_get(k, "opcodes"), "LDG", 0), 3, "opcodes");
	is_int(kw_json_get_i64(k, "fp64", 0), 2, "doubles");
	is_int(kw_json_get_i64(k, "local", 0), 1, "local memory");
	is_int(kw_json_get_i64(k, "matrix", 0), 2, "matrix units");
	is_int(kw_json_get_i64(k, "divisions", 0), 2, "integer divisions");
	is_int(kw_json_get_i64(json_object_get(j, "_Z1gv"), "instructions", 0), 1, "the other kernel");
	json_decref(j);
	j = kw_sass_parse("", 0);
	is_int((int64_t)json_object_size(j), 0, "no text");
	json_decref(j);
}

static void test_nonsense(void)
{
	static const char *const texts[] = {
		"",
		"\n",
		"(",
		"x(1",
		"x(1): ",
		"x(1): error",
		"x(1): error #",
		"ptxas ",
		"ptxas error   : ",
		"^",
		"  ^",
		" at line ",
		"instantiation of at line of ",
		"Function properties for ",
		"ptxas error   : Entry function '' uses too much shared data (",
		"ptxas fatal   : '''",
		"x(99999999999): error: y",
		"bytes stack frame",
		": Used "
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		parse(texts[i], texts[i]);
	parse(NULL, NULL);
	ok(true, "nonsense does no harm");
}

static void test_host_code(void)
{
	static const struct {
		const char *source;
		bool fine;
		int line, column;
	} cases[] = {
		{ "k<<<1, 1>>>(x);", false, 1, 2 },
		{ "\n  int main(void)", false, 2, 7 },
		{ "main (", false, 1, 1 },
		{ "// k<<<1, 1>>>()\n/* main() <<<\n */ \"<<<\" '\"' \"\\\"<<<\" R\"x(<<< main( "
		  ")\" )x\"",
		  true, 0, 0 },
		{ "domain(x); main_loop(); int main = 3; a << b; a <<= 1;", true, 0, 0 },
		{ "1'000'000; \"\n<<<", false, 2, 1 },
		{ "'\\'' <<<", false, 1, 6 },
		{ "R\"(a\n)\" <<<", false, 2, 4 },
		{ "/*", true, 0, 0 },
		{ "\"", true, 0, 0 },
		{ "", true, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct kw_candidate c = { .source = cases[i].source,
					  .source_len = strlen(cases[i].source) };
		struct kw_source_fault f = { .line = 0 };

		ok(kw_source_host_code(&c, &f) == cases[i].fine && f.line == cases[i].line &&
			   f.column == cases[i].column,
		   "host code %zu: %d:%d", i, f.line, f.column);
	}
}

int main(void)
{
	size_t n;

	test_front_end();
	test_assembler();
	test_too_much_shared();
	test_usage();
	test_other_files();
	test_sass();
	test_nonsense();
	test_host_code();
	ok(kw_cuda_flags_allowed(&n) && n > 5 &&
		   kw_source_flag_allowed(kw_cuda_flags_allowed(&n), n, "-maxrregcount=64") &&
		   !kw_source_flag_allowed(kw_cuda_flags_allowed(&n), n,
					   "-maxrregcount=64 -I/etc") &&
		   !kw_source_flag_allowed(kw_cuda_flags_allowed(&n), n,
					   "--pre-include=/etc/passwd"),
	   "flags");
	kw_diagnostics_release(&d);
	return done();
}
