/* Triton kernels that a module asks for while it runs: a real player, its real channel, the real
 * compiler in its box. Nothing is launched, so no GPU is needed: a module tells what it was given.
 */
#include "backend/triton_asked.h"

#include <glob.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "base/arena.h"
#include "base/file.h"
#include "python/python.h"
#include "tap.h"
#include "temp.h"

enum { N = 16, TIMEOUT_MS = 20000 };

static struct kw_error err;
static struct kw_arena arena;
static struct kw_device *device;
static struct kw_session *session;
static struct kw_python_found python;
static struct kw_module_host host;
static struct kw_triton_asked *asked;
static struct kw_play_result r;
static float y[N];

/* What a judge tells of a task with one input and one output, f32[N]. */
static const char *spec_text(void)
{
	char *code;
	json_t *spec, *read = json_array();
	char *text;
	const char *out;

	kw_data_read("python/triton_module.py", &arena, &code, NULL, &err);
	for (size_t i = 0; host.read[i]; i++)
		json_array_append_new(read, json_string(host.read[i]));
	for (size_t i = 0; i < 4; i++)
		json_array_append_new(read, json_string((const char *[]){ "/usr", "/lib", "/lib64",
									  "/proc/cpuinfo" }[i]));
	spec = json_pack("{s:s,s:[{s:s,s:i,s:s,s:[i],s:[i]}],s:[{s:s,s:i,s:s,s:[i],s:[i]}],s:i,s:{}"
			 ",s:{s:i},s:s,s:b,s:b,s:o,s:{s:[[s,s]],s:i,s:b}}",
			 "file", "mine.py", "inputs", "name", "x", "buffer", 0, "dtype", "float32",
			 "shape", N, "strides", 1, "outputs", "name", "y", "buffer", 1, "dtype",
			 "float32", "shape", N, "strides", 1, "perturb", 0, "params", "dtypes",
			 "float32", KW_F32, "device", "cpu", "eval", 0, "tf32", 0, "read", read, "triton",
			 "files", "triton_module", code, "sm", 90, "interpreted", 0);
	text = json_dumps(spec, JSON_COMPACT);
	out = kw_arena_strdup(&arena, text ? text : "");
	json_decref(spec);
	free(text);
	return out;
}

static void start(void)
{
	struct kw_buffer_spec b[] = {
		{ .name = "x", .bytes = N * 4, .align_bytes = 64, .read_only = true },
		{ .name = "y", .bytes = N * 4, .align_bytes = 64 }
	};
	struct kw_session_opts o = { b, 2, 2, 1, KW_PLACE_END };
	char *script;

	is_int(kw_data_read("python/module_player.py", &arena, &script, &host.script_len, &err),
	       KW_OK, "the player's script");
	is_int(kw_python_folders(python.path, &host.read, &err), KW_OK, "its folders");
	is_int(kw_triton_asked_new("sm_90a", &asked, &err), KW_OK, "a compiler: %s", err.text);
	host.python = python.path;
	host.script = script;
	host.triton = true;
	host.ask = kw_triton_asked;
	host.ask_arg = asked;
	is_int(device->ops->session_new(device, &o, &session, &err), KW_OK, "a session");
}

/* One call of the module whose forward this is; the rest of the text in front of it. */
static enum kw_play_end play(const char *before, const char *forward)
{
	static const char head[] = "import torch\nimport triton\nimport triton.language as tl\n";
	const char *source = kw_arena_printf(
		&arena, "%s%s\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n%s\n",
		head, before, forward);
	const char *text = kw_arena_printf(
		&arena, "kwmodule\n{\"libraries\":[],\"source\":%zu}\n%s", strlen(source), source);
	struct kw_view want = { .dtype = KW_F32,
				.shape = { .rank = 1, .dim = { N } },
				.stride = { 1 } };
	struct kw_module_play m = { .host = &host,
				    .spec = spec_text(),
				    .outputs = &want,
				    .input_count = 1,
				    .output_count = 1 };
	struct kw_player_opts o = { .module = &m, .threads = 1 };
	struct kw_artefact code = { .code = (void *)(uintptr_t)text, .code_bytes = strlen(text) };
	struct kw_bound_plan plan = { .applicable = true };
	struct kw_player *p = NULL;
	int slot = 0;

	if (device->ops->player_start(session, &o, &p, &err) != KW_OK ||
	    device->ops->load(p, &code, &plan, TIMEOUT_MS, &r, &err) != KW_OK ||
	    (r.end == KW_PLAY_DONE &&
	     device->ops->run(p, &slot, 1, TIMEOUT_MS, &r, &err) != KW_OK)) {
		diag("%s", err.text);
		r.end = KW_PLAY_FORGED;
	}
	if (r.end != KW_PLAY_DONE)
		diag("end %d: %s", (int)r.end, r.detail);
	memcpy(y, kw_session_ptr(session, 0, 1), sizeof(y));
	if (p)
		device->ops->player_stop(p);
	return r.end;
}

#define TELL(values)                                                                               \
	"        return torch.tensor((list(" values ") + [0.0] * 16)[:16], dtype=torch.float32)\n"

static const char kernels[] = "from triton.language.extra import libdevice\n"
			      "LIMIT = tl.constexpr(7)\n"
			      "@triton.jit\n"
			      "def helper(v, SCALE: tl.constexpr = 2):\n"
			      "    return libdevice.tanh(v) * SCALE + LIMIT\n"
			      "\n"
			      "@triton.jit\n"
			      "def kernel(x, y, n, BLOCK: tl.constexpr):\n"
			      "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
			      "    v = tl.load(x + i, mask=i < n, other=0.0)\n"
			      "    tl.store(y + i, helper(v) / tl.sum(v, axis=0), mask=i < n)\n";

static void a_kernel(void)
{
	static const char forward[] =
		"        k = kernel.warmup(torch.float32, torch.float32, 1000, BLOCK=512, "
		"num_warps=8, grid=(1,))\n"
		"        from triton.runtime.driver import driver\n"
		"        assert k.asm['cubin'][:4] == b'\\x7fELF' and k.name.encode() in "
		"k.asm['cubin'], 'no object'\n" TELL(
			"[k.metadata.num_warps, k.metadata.shared, k.name == 'kernel', "
			"len(k.asm['cubin']) > 1000, k.metadata.target.arch]");
	struct kw_triton_asked_count n;

	is_int(play(kernels, forward), KW_PLAY_DONE, "a module gets its kernel: %s", r.detail);
	is_int((int)y[0], 8, "with the warps that it asked for");
	ok(y[1] > 0, "and what it takes of shared memory, for the sum over the warps");
	ok(y[2] == 1 && y[3] == 1, "an object with the kernel in it, by its name");
	is_int((int)y[4], 90, "for the device that was asked for");
	is_int(r.asked, 1, "the judge knows that the call has waited for it");
	n = kw_triton_asked_count(asked);
	is_int(play(kernels, forward), KW_PLAY_DONE,
	       "another process of the same module gets it too");
	is_int(kw_triton_asked_count(asked).different, n.different,
	       "and nothing is compiled for that");
}

/* A driver that is none, in the place of libcuda: it tells what a launch would have been given. */
static const char driver[] =
	"import ctypes\n"
	"import kwright_triton_module as ours\n"
	"class Driver:\n"
	"    facts = {97: 232448, 12: 65536, 16: 132, 10: 32, 13: 1980000, 36: 3201000, 37: 6144}\n"
	"    loaded = []\n"
	"    def cuDeviceGetAttribute(self, out, what, device): out._obj.value = self.facts[what]; "
	"return 0\n"
	"    def cuFuncGetAttribute(self, out, what, function): out._obj.value = 1024 if what == 0 "
	"else 0; return 0\n"
	"    def cuModuleLoadData(self, out, code): out._obj.value = 5; "
	"self.loaded.append(code[:4]); return 0\n"
	"    def cuModuleGetFunction(self, out, module, name): out._obj.value = 6; "
	"self.loaded.append(name); return 0\n"
	"    def cuFuncSetCacheConfig(self, *given): return 0\n"
	"    def cuFuncSetAttribute(self, *given): self.loaded.append('room'); return 0\n"
	"    def cuTensorMapEncodeTiled(self, at, *given):\n"
	"        ctypes.memset(at, 7, 128)\n"
	"        self.loaded.append([list(g) if hasattr(g, '__len__') else getattr(g, 'value', g) "
	"for g in given])\n"
	"        return 0\n"
	"launches = []\n"
	"def launch(config, function, addresses, extra):\n"
	"    launches.append((config.raw, function, addresses.raw))\n"
	"    return 0\n"
	"def word(n, kind): return kind.from_address(int.from_bytes(launches[-1][2][8 * n:8 * n + "
	"8], 'little')).value\n"
	"ours.cuda.loaded, ours.cuda.launch = Driver(), launch\n"
	"torch.cuda.current_stream = lambda: None\n"
	"class Pointer:\n"
	"    dtype = torch.float32\n"
	"    def __init__(self, at): self.at = at\n"
	"    def data_ptr(self): return self.at\n";

static const char launched[] =
	"@triton.autotune([triton.Config({'BLOCK': 1024}, num_warps=4)], key=['n'])\n"
	"@triton.heuristics({'EVEN': lambda a: a['n'] % 2 == 0})\n"
	"@triton.jit\n"
	"def kernel(x, n, scale, long, half: 'bf16', none, BLOCK: tl.constexpr, EVEN: "
	"tl.constexpr):\n"
	"    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
	"    if EVEN:\n"
	"        tl.store(x + i, scale + half + long, mask=i < n)\n"
	"    else:\n"
	"        tl.store(x + i, scale, mask=i < n)\n";

static void a_launch(void)
{
	const char *before = kw_arena_printf(&arena, "%s%s", driver, launched);

	is_int(play(before, "        kernel[lambda meta: (triton.cdiv(5000, meta['BLOCK']), "
			    "3)](Pointer(4096), 5000, 0.5, 1 << 40, 1.5, None)\n"
			    "        import struct\n"
			    "        config = struct.unpack('<7I4xQQI4x', launches[0][0])\n" TELL(
				    "[*config[:7], word(0, ctypes.c_uint64), word(1, "
				    "ctypes.c_int32), word(2, ctypes.c_float), "
				    "word(3, ctypes.c_int64) >> 20, word(4, ctypes.c_uint16), "
				    "word(5, ctypes.c_uint64), word(6, ctypes.c_uint64), "
				    "len(launches[0][2]) / 8, launches[0][1]]")),
	       KW_PLAY_DONE, "a kernel is launched, through configs and heuristics: %s", r.detail);
	is_int((int)y[0] * 100 + (int)y[1] * 10 + (int)y[2], 531,
	       "on the grid that follows from a config");
	is_int((int)y[3], 128, "with the threads of its warps");
	is_int((int)y[7], 4096, "an address");
	is_int((int)y[8], 5000, "a whole number");
	ok(y[9] == 0.5f && y[10] == 1 << 20, "a float and a long");
	is_int((int)y[11], 0x3fc0, "a bf16 as its bits");
	ok(y[12] == 0 && y[13] == 0, "no scratch memory where none is needed");
	is_int((int)y[14], 7, "no place for constants");
}

static const char simple[] = "@triton.jit\n"
			     "def kernel(x, n, BLOCK: tl.constexpr):\n"
			     "    i = tl.arange(0, BLOCK)\n"
			     "    tl.store(x + i, 1.0, mask=i < n)\n";

static void refused_kernels(void)
{
	is_int(play(simple, "        kernel.warmup(torch.float32, 100, BLOCK=100, grid=(1,))\n"),
	       KW_PLAY_FAULT, "a range of 100");
	is_int(r.fault, KW_S_TYPE, "is the class that it is in a plan");
	has_str(r.detail, "arange's range must be a power of 2. Use 128", "with what helps");
	has_str(r.detail, "(mine.py:6: i = tl.arange(0, BLOCK))", "and the line of the module");
	is_int(play(simple, "        kernel.warmup(torch.float32, 100, grid=(1,))\n"),
	       KW_PLAY_FAULT, "a constexpr that is left out");
	is_int(r.fault, KW_S_BUILD_PLAN, "has its class");
	has_str(r.detail, "constexpr 'BLOCK' of 'kernel' has no value", "and its name");
	is_int(play(simple,
		    "        kernel.warmup(torch.float32, 100, 5, 6, BLOCK=64, grid=(1,))\n"),
	       KW_PLAY_FAULT, "too many arguments");
	is_int(r.fault, KW_S_TYPE, "have theirs");
	has_str(r.detail, "the launch of 'kernel'", "in words of the module");
	is_int(play("BLOCK = 64\n@triton.jit\ndef kernel(x):\n    tl.store(x + tl.arange(0, "
		    "BLOCK), tl.nothing(1.0))\n",
		    "        kernel.warmup(torch.float32, grid=(1,))\n"),
	       KW_PLAY_FAULT, "a global that is no constexpr");
	is_int(r.fault, KW_S_UNDEFINED, "is undefined");
	has_str(r.detail, "Cannot access global variable BLOCK", "as Triton says");
	is_int(play(simple, "        kernel.warmup(torch.float32, 100, BLOCK=64, num_warps=6, "
			    "grid=(1,))\n"),
	       KW_PLAY_FAULT, "six warps: %s", r.detail);
	is_int(r.fault, KW_S_BUILD_PLAN, "are none of the numbers that can be");
}

/* Several configs of one kernel. */
static void together(void)
{
	int before = kw_triton_asked_count(asked).asked;
	const char *tuned = kw_arena_printf(&arena,
					    "@triton.autotune([triton.Config({'BLOCK': b}, "
					    "num_warps=w) for b in (64, 128) for w in (1, 2)], "
					    "key=['n'])\n%s",
					    simple);

	is_int(play(kw_arena_printf(&arena, "%s%s", driver, tuned),
		    "        triton.testing.do_bench = lambda call, **more: call() or "
		    "[len(ours.cuda.loaded.loaded)] * 3\n"
		    "        kernel[(1,)](Pointer(4096), 100)\n"
		    "        import struct\n" TELL(
			    "[len(launches), struct.unpack_from('<I', launches[0][0], 12)[0]]")),
	       KW_PLAY_DONE, "a kernel is tuned: %s", r.detail);
	is_int((int)y[0], 5, "each of four configs is tried, and the best launched");
	is_int((int)y[1], 32, "the first with one warp");
	is_int(r.asked, 1, "they were asked for at once");
	is_int(kw_triton_asked_count(asked).asked - before, 4, "all four");
}

/* What comes is the candidate's word. */
static void hostile_questions(void)
{
	static const char ask[] = "import json\nask = triton.compile.__self__.ask\n";

	is_int(play(ask, "        ask(b'no json')\n"), KW_PLAY_FORGED, "a question that is none");
	is_int(play(ask, "        ask(json.dumps({'kernels': [{}] * 33}).encode())\n"),
	       KW_PLAY_FORGED, "more at once than is asked for");
	is_int(play(ask, "        ask(b'[' * 100000)\n"), KW_PLAY_FORGED, "a deep one");
	is_int(play(ask, "        ask.__self__.asking.acquire()\n"
			 "        import struct, kwright_triton_module\n"
			 "        p = ask.__self__\n"
			 "        p.control.send(struct.pack('<IiQQIIii160s', 0x7284, 1 << 30, "
			 "p.nonce, 0, 0, 0, 0, 0, b''))\n"
			 "        import time; time.sleep(5)\n"),
	       KW_PLAY_FORGED, "one of a gigabyte");
	is_int(play(ask,
		    "        def said(one):\n"
		    "            answer = ask(json.dumps({'kernels': [one]}).encode())\n"
		    "            return "
		    "json.loads(answer[:answer.index(b'\\n')])['kernels'][0]['errors'][0]['message'"
		    "]\n"
		    "        one = {'functions': [{'name': 'k', 'text': 'def k(x):\\n    pass\\n', "
		    "'line': 1, 'kind': 'jit', 'globals': {},\n"
		    "               'defaults': []}], 'signature': [['x', '*fp32']], 'constants': "
		    "[], 'attributes': [], 'options': {}}\n"
		    "        told = []\n"
		    "        for text, more in [('import os', {}), ('def k(x):\\n    pass\\n', "
		    "{'os': {'module': 'os'}}),\n"
		    "                           ('def k(x):\\n    pass\\n', {'os': {'of': "
		    "['triton', 'os.system']}}),\n"
		    "                           ('def k(x):\\n    pass\\n', {'x': {'function': "
		    "7}})]:\n"
		    "            one['functions'][0].update(text=text, globals=more)\n"
		    "            told.append(len(said(one)) > 0)\n"
		    "        one['functions'] = [{'name': 'k', 'text': 'def k(x):\\n    "
		    "read()\\n', 'line': 1, 'kind': 'jit', 'globals': {'read':\n"
		    "            {'function': 1}}, 'defaults': []}, {'name': 'read', 'text': 'def "
		    "read():\\n    return len(__import__(\"os\").listdir(\"/etc\"))\\n',\n"
		    "            'line': 1, 'kind': 'constexpr', 'globals': {}, 'defaults': []}]\n"
		    "        told.append('Permission denied' in said(one))\n" TELL("told")),
	       KW_PLAY_DONE, "texts that are no kernels are answered: %s", r.detail);
	for (int i = 0; i < 5; i++)
		ok(y[i] == 1, "with a refusal (%d)", i);
	is_int(play(ask,
		    "        text = '''def spoil():\n"
		    "    import os\n"
		    "    for f in range(3, 512):\n"
		    "        try:\n"
		    "            os.write(f, b'spoilt')\n"
		    "        except OSError:\n"
		    "            pass\n"
		    "'''\n"
		    "        def one(said, *more):\n"
		    "            return {'functions': [{'name': 'k', 'text': 'def k(x):\\n    ' + "
		    "said + '\\n', 'line': 1, 'kind': 'jit', 'globals':\n"
		    "                {'spoil': {'function': 1}} if more else {}, 'defaults': []}, "
		    "*more], 'signature': [['x', '*fp32']],\n"
		    "                'constants': [], 'attributes': [], 'options': {}}\n"
		    "        evil = one('spoil()', {'name': 'spoil', 'text': text, 'line': 1, "
		    "'kind': 'constexpr', 'globals': {}, 'defaults': []})\n"
		    "        answer = ask(json.dumps({'kernels': [evil, one('pass'), "
		    "one('return')]}).encode())\n"
		    "        told = json.loads(answer[:answer.index(b'\\n')])['kernels']\n" TELL(
			    "['errors' in t for t in told]")),
	       KW_PLAY_DONE, "a compiler that runs code of the candidate's: %s", r.detail);
	ok(y[0] == 1 && y[1] == 0 && y[2] == 0,
	   "reaches its own object alone, and not the judge's channel");
	is_int(play(ask, "        for i in range(17):\n"
			 "            ask(json.dumps({'kernels': [{'n': 32 * i + k} for k in "
			 "range(32)]}).encode())\n"),
	       KW_PLAY_FAULT, "kernels without end");
	is_int(r.fault, KW_S_CONFIGURATION, "are a verdict");
	has_str(r.detail, "more than 512 different ones", "in words");
}

/* ---- compilers that wait for a candidate ---- */

/* Their folders, that of `asked` among them; with such a file in it. */
static int folders(const char *file, char paths[1024])
{
	glob_t found;
	int n = 0;

	paths[0] = '\0';
	if (glob(temp_file(kw_arena_printf(&arena, "kw-build-*%s", file)), 0, NULL, &found) != 0)
		return 0;
	for (n = 0; n < (int)found.gl_pathc; n++)
		snprintf(paths + strlen(paths), 1024 - strlen(paths), "%s'%s'", n ? ", " : "",
			 found.gl_pathv[n]);
	globfree(&found);
	return n;
}

/* The last process that this one has started: its parent is the second number behind its name. */
static pid_t last_child(void)
{
	glob_t found;
	pid_t last = -1;

	if (glob("/proc/[1-9]*/stat", GLOB_NOSORT, NULL, &found) != 0)
		return -1;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		struct kw_buf text;
		const char *name_end;
		int pid = (int)strtol(found.gl_pathv[i] + strlen("/proc/"), NULL, 10), parent = 0;

		kw_buf_init(&text, 4096);
		if (kw_file_read(found.gl_pathv[i], 4095, &text, NULL) == KW_OK && text.len &&
		    (name_end = strrchr(text.ptr, ')')) != NULL &&
		    sscanf(name_end, ") %*c %d", &parent) == 1 && parent == getpid() && pid > last)
			last = pid;
		kw_buf_release(&text);
	}
	globfree(&found);
	return last;
}

static void waiting_ones(void)
{
	static const char reach[] = "import json\n"
				    "ask = triton.compile.__self__.ask\n"
				    "text = '''def reach():\n"
				    "    for folder in (%s,):\n"
				    "        try:\n"
				    "            open(folder + '/left', 'w').close()\n"
				    "        except OSError:\n"
				    "            pass\n"
				    "'''\n";
	struct kw_triton_asked *t[3] = { NULL };
	char paths[1024];

	kw_triton_asked_ahead("sm_90a", 2);
	kw_triton_asked_ahead("sm_90a", 2);
	kw_triton_asked_ready();
	is_int(folders("", paths), 3, "two wait, beside the one that works");
	is_int(play(kw_arena_printf(&arena, reach, paths),
		    "        one = {'functions': [{'name': 'k', 'text': 'def k(x):\\n    "
		    "reach()\\n', 'line': 1, 'kind': 'jit', 'globals':\n"
		    "            {'reach': {'function': 1}}, 'defaults': []}, {'name': 'reach', "
		    "'text': text, 'line': 1, 'kind': 'constexpr',\n"
		    "            'globals': {}, 'defaults': []}], 'signature': [['x', '*fp32']], "
		    "'constants': [], 'attributes': [], 'options': {}}\n"
		    "        ask(json.dumps({'kernels': [one]}).encode())\n" TELL("[1]")),
	       KW_PLAY_DONE, "code of a candidate's in its compiler: %s", r.detail);
	is_int(folders("/left", paths), 1, "leaves nothing where another candidate's will work");
	for (int i = 0; i < 3; i++)
		is_int(kw_triton_asked_new("sm_90a", &t[i], &err), KW_OK, "one is wanted");
	is_int(folders("", paths), 4, "those that wait are taken first, each once");
	host.ask_arg = t[0];
	is_int(play(simple, "        k = kernel.warmup(torch.float32, 100, BLOCK=256, grid=(1,))\n"
			    TELL("[len(k.asm['cubin']) > 1000]")),
	       KW_PLAY_DONE, "and compile: %s", r.detail);
	ok(y[0] == 1, "a kernel");
	for (int i = 0; i < 3; i++)
		kw_triton_asked_free(t[i]);
	kw_triton_asked_ahead("sm_80", 1);
	is_int(kw_triton_asked_new("sm_90a", &t[0], &err), KW_OK, "one for another device");
	is_int(kw_triton_asked_sm(t[0]), 90, "is none that waits");
	kw_triton_asked_free(t[0]);
}

static void ended_ones(void)
{
	struct kw_triton_asked *t;
	char paths[1024];
	siginfo_t info;
	pid_t pid;

	kw_triton_asked_ahead("sm_90a", 1);
	kw_triton_asked_ready();
	pid = last_child();
	ok(pid > 0 && kill(pid, SIGKILL) == 0, "one is ended while it waits");
	waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
	is_int(kw_triton_asked_new("sm_90a", &t, &err), KW_OK, "another one");
	host.ask_arg = t;
	is_int(play(simple, "        kernel.warmup(torch.float32, 100, BLOCK=512, grid=(1,))\n"
			    TELL("[1]")),
	       KW_PLAY_DONE, "compiles: %s", r.detail);
	is_int(kw_triton_asked_count(t).compiled, 1, "a kernel");
	kw_triton_asked_free(t);
	kw_triton_asked_ahead("sm_90a", 2);
	kw_triton_asked_dismiss();
	is_int(folders("", paths), 1, "they end with the judge, and leave nothing");
	host.ask_arg = asked;
}

int main(void)
{
	kw_arena_init(&arena, 256 << 20);
	setenv("TMPDIR", temp_dir(), 1);
	setenv("XDG_CACHE_HOME", temp_dir(), 1); /* nothing is compiled yet */
	if (kw_python_find(KW_PYTHON_TORCH | KW_PYTHON_TRITON, &python, &err) != KW_OK) {
		skip(1, "no Python with torch and triton here");
		kw_arena_release(&arena);
		return done();
	}
	is_int(kw_device_open("cpu", &device, &err), KW_OK, "the CPU");
	start();
	a_kernel();
	a_launch();
	refused_kernels();
	together();
	waiting_ones();
	ended_ones();
	hostile_questions();
	device->ops->session_free(session);
	kw_triton_asked_free(asked);
	kw_device_close(device);
	kw_arena_release(&arena);
	return done();
}
