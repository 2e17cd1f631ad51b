/* `kwright __opencl`: the child that loads a vendor's runtime. It lists the devices, or builds a program. A build is asked for
 * in the compiler's box, entered before this program began; see backend/opencl.c. */
#include "device/opencl.h"
#include "device/opencl_api.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/json.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_QUESTION = 32 << 20, PLATFORMS = 16, DEVICES = 32, KERNELS = 256, ARGS = 128, TEXT = 4096, MAX_BINARY = 96 << 20 };

const char kw_cl_word[] = "__opencl";
static int answer_fd = 1;

static _Noreturn void answer(json_t *head, const void *log, size_t log_bytes, const void *code, size_t code_bytes)
{
	struct kw_buf line;
	bool bad;

	kw_buf_init(&line, 8 << 20);
	bad = !head || kw_json_canonical(head, &line, NULL) != KW_OK;
	kw_buf_addc(&line, '\n');
	bad = bad || kw_fd_write_all(answer_fd, line.ptr, line.len, "", NULL) != KW_OK ||
	      kw_fd_write_all(answer_fd, log, log_bytes, "", NULL) != KW_OK ||
	      kw_fd_write_all(answer_fd, code, code_bytes, "", NULL) != KW_OK;
	_exit(bad ? 1 : 0);
}

static _Noreturn void answer_error(const char *text)
{
	answer(json_pack("{s:s}", "error", text), "", 0, "", 0);
}

/* ---- devices ---- */

static void put_text(json_t *to, const char *key, int32_t (*get)(void *, uint32_t, size_t, void *, size_t *), void *of,
		     uint32_t what)
{
	static char text[TEXT * 4];
	size_t bytes = 0;

	if (get(of, what, sizeof(text) - 1, text, &bytes) != KW_CL_SUCCESS || bytes >= sizeof(text))
		bytes = 0;
	text[bytes] = '\0';
	/* Text that is no UTF-8 cannot go into JSON. */
	if (json_object_set_new(to, key, json_string(text)) != 0)
		json_object_set_new(to, key, json_string("?"));
}

static int64_t number(const struct kw_cl *cl, void *device, uint32_t what)
{
	uint64_t v = 0;

	return cl->GetDeviceInfo(device, what, sizeof(v), &v, NULL) == KW_CL_SUCCESS ? (int64_t)v : 0;
}

static json_t *describe(const struct kw_cl *cl, void *platform, void *device, uint32_t p, uint32_t d)
{
	size_t items[8] = { 0 };
	int64_t type = number(cl, device, KW_CL_DEVICE_TYPE);
	json_t *j = json_pack("{s:i,s:i,s:b,s:b,s:b}", "platform", (int)p, "device", (int)d, "cpu", (type & KW_CL_TYPE_CPU) != 0,
			      "gpu", (type & KW_CL_TYPE_GPU) != 0, "compiler",
			      number(cl, device, KW_CL_DEVICE_COMPILER_AVAILABLE) != 0);

	if (!j)
		return NULL;
	put_text(j, "platform_name", cl->GetPlatformInfo, platform, KW_CL_PLATFORM_NAME);
	put_text(j, "platform_version", cl->GetPlatformInfo, platform, KW_CL_PLATFORM_VERSION);
	put_text(j, "name", cl->GetDeviceInfo, device, KW_CL_DEVICE_NAME);
	put_text(j, "vendor", cl->GetDeviceInfo, device, KW_CL_DEVICE_VENDOR);
	put_text(j, "version", cl->GetDeviceInfo, device, KW_CL_DEVICE_VERSION);
	put_text(j, "driver", cl->GetDeviceInfo, device, KW_CL_DRIVER_VERSION);
	put_text(j, "c_version", cl->GetDeviceInfo, device, KW_CL_DEVICE_OPENCL_C_VERSION);
	put_text(j, "extensions", cl->GetDeviceInfo, device, KW_CL_DEVICE_EXTENSIONS);
	json_object_set_new(j, "units", json_integer(number(cl, device, KW_CL_DEVICE_MAX_COMPUTE_UNITS)));
	json_object_set_new(j, "clock_mhz", json_integer(number(cl, device, KW_CL_DEVICE_MAX_CLOCK_FREQUENCY)));
	json_object_set_new(j, "memory", json_integer(number(cl, device, KW_CL_DEVICE_GLOBAL_MEM_SIZE)));
	json_object_set_new(j, "cache", json_integer(number(cl, device, KW_CL_DEVICE_GLOBAL_MEM_CACHE_SIZE)));
	json_object_set_new(j, "local", json_integer(number(cl, device, KW_CL_DEVICE_LOCAL_MEM_SIZE)));
	json_object_set_new(j, "align_bits", json_integer(number(cl, device, KW_CL_DEVICE_MEM_BASE_ADDR_ALIGN)));
	json_object_set_new(j, "group_size", json_integer(number(cl, device, KW_CL_DEVICE_MAX_WORK_GROUP_SIZE)));
	cl->GetDeviceInfo(device, KW_CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof(items), items, NULL);
	json_object_set_new(j, "group", json_pack("[I,I,I]", (json_int_t)items[0], (json_int_t)items[1], (json_int_t)items[2]));
	return j;
}

static _Noreturn void list_devices(const struct kw_cl *cl)
{
	void *platforms[PLATFORMS], *devices[DEVICES];
	uint32_t platform_count = 0, device_count;
	json_t *list = json_array();

	if (cl->GetPlatformIDs(PLATFORMS, platforms, &platform_count) != KW_CL_SUCCESS)
		platform_count = 0;
	for (uint32_t p = 0; p < platform_count && p < PLATFORMS; p++) {
		device_count = 0;
		if (cl->GetDeviceIDs(platforms[p], UINT32_MAX, DEVICES, devices, &device_count) != KW_CL_SUCCESS)
			continue;
		for (uint32_t d = 0; d < device_count && d < DEVICES; d++)
			json_array_append_new(list, describe(cl, platforms[p], devices[d], p, d));
	}
	answer(json_pack("{s:o}", "devices", list), "", 0, "", 0);
}

/* ---- a build ---- */

static const char *space_name(uint32_t space)
{
	return space == KW_CL_ADDRESS_GLOBAL ? "global" : space == KW_CL_ADDRESS_LOCAL ? "local" :
	       space == KW_CL_ADDRESS_CONSTANT ? "constant" : "private";
}

static json_t *describe_args(const struct kw_cl *cl, void *kernel, uint32_t count)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < count && i < ARGS; i++) {
		char type[256] = "", name[256] = "";
		uint32_t space = 0;

		if (cl->GetKernelArgInfo(kernel, i, KW_CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof(space), &space, NULL) !=
			    KW_CL_SUCCESS ||
		    cl->GetKernelArgInfo(kernel, i, KW_CL_KERNEL_ARG_TYPE_NAME, sizeof(type) - 1, type, NULL) != KW_CL_SUCCESS)
			break; /* this runtime keeps none */
		cl->GetKernelArgInfo(kernel, i, KW_CL_KERNEL_ARG_NAME, sizeof(name) - 1, name, NULL);
		json_array_append_new(list, json_pack("{s:s,s:s,s:s}", "space", space_name(space), "type", type, "name", name));
	}
	return list;
}

static json_t *describe_kernel(const struct kw_cl *cl, void *kernel, void *device)
{
	char name[512] = "";
	uint32_t args = 0;
	size_t most = 0, fixed[3] = { 0 };
	uint64_t local = 0, private_bytes = 0;

	cl->GetKernelInfo(kernel, KW_CL_KERNEL_FUNCTION_NAME, sizeof(name) - 1, name, NULL);
	cl->GetKernelInfo(kernel, KW_CL_KERNEL_NUM_ARGS, sizeof(args), &args, NULL);
	cl->GetKernelWorkGroupInfo(kernel, device, KW_CL_KERNEL_WORK_GROUP_SIZE, sizeof(most), &most, NULL);
	cl->GetKernelWorkGroupInfo(kernel, device, KW_CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof(fixed), fixed, NULL);
	cl->GetKernelWorkGroupInfo(kernel, device, KW_CL_KERNEL_LOCAL_MEM_SIZE, sizeof(local), &local, NULL);
	cl->GetKernelWorkGroupInfo(kernel, device, KW_CL_KERNEL_PRIVATE_MEM_SIZE, sizeof(private_bytes), &private_bytes, NULL);
	return json_pack("{s:s,s:i,s:o,s:I,s:[I,I,I],s:I,s:I}", "name", name, "arg_count", (int)args, "args",
			 describe_args(cl, kernel, args), "group_size", (json_int_t)most, "fixed", (json_int_t)fixed[0],
			 (json_int_t)fixed[1], (json_int_t)fixed[2], "local", (json_int_t)local, "private",
			 (json_int_t)private_bytes);
}

static json_t *describe_kernels(const struct kw_cl *cl, void *program, void *device)
{
	void *kernels[KERNELS];
	uint32_t n = 0;
	json_t *list = json_array();

	if (cl->CreateKernelsInProgram(program, KERNELS, kernels, &n) != KW_CL_SUCCESS)
		n = 0;
	for (uint32_t i = 0; i < n && i < KERNELS; i++) {
		json_array_append_new(list, describe_kernel(cl, kernels[i], device));
		cl->ReleaseKernel(kernels[i]);
	}
	return list;
}

static char *build_log(const struct kw_cl *cl, void *program, void *device, size_t *len)
{
	size_t bytes = 0;
	char *log;

	*len = 0;
	if (cl->GetProgramBuildInfo(program, device, KW_CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes) != KW_CL_SUCCESS)
		return NULL;
	log = kw_calloc(1, bytes + 1);
	if (!log || cl->GetProgramBuildInfo(program, device, KW_CL_PROGRAM_BUILD_LOG, bytes, log, NULL) != KW_CL_SUCCESS)
		return log;
	*len = strlen(log);
	return log;
}

static unsigned char *binary_of(const struct kw_cl *cl, void *program, size_t *bytes)
{
	unsigned char *code = NULL;

	*bytes = 0;
	if (cl->GetProgramInfo(program, KW_CL_PROGRAM_BINARY_SIZES, sizeof(*bytes), bytes, NULL) != KW_CL_SUCCESS ||
	    *bytes == 0 || *bytes > MAX_BINARY || !(code = kw_calloc(1, *bytes)) ||
	    cl->GetProgramInfo(program, KW_CL_PROGRAM_BINARIES, sizeof(code), &code, NULL) != KW_CL_SUCCESS)
		*bytes = 0;
	return code;
}

static void *build_program(const struct kw_cl *cl, void *device, const json_t *q, int32_t *status)
{
	const char *texts[2] = { kw_json_get_str(q, "header", ""), kw_json_get_str(q, "source", "") };
	size_t lengths[2] = { strlen(texts[0]), strlen(texts[1]) };
	void *context = cl->CreateContext(NULL, 1, &device, NULL, NULL, status), *program;

	if (!context)
		return NULL;
	program = cl->CreateProgramWithSource(context, 2, texts, lengths, status);
	if (program)
		*status = cl->BuildProgram(program, 1, &device, kw_json_get_str(q, "options", ""), NULL, NULL);
	return program;
}

static _Noreturn void build(const struct kw_cl *cl, const json_t *q)
{
	void *device = kw_cl_device(cl, (uint32_t)kw_json_get_i64(q, "platform", 0), (uint32_t)kw_json_get_i64(q, "device", 0));
	int32_t status = 0;
	size_t log_bytes = 0, code_bytes = 0;
	unsigned char *code = NULL;
	json_t *kernels = NULL;
	char *log = NULL, what[80];
	void *program;

	if (!device)
		answer_error("the OpenCL device is not there any more");
	program = build_program(cl, device, q, &status);
	if (program)
		log = build_log(cl, program, device, &log_bytes);
	if (program && status == KW_CL_SUCCESS) {
		kernels = describe_kernels(cl, program, device);
		code = binary_of(cl, program, &code_bytes);
	}
	answer(json_pack("{s:i,s:s,s:I,s:I,s:o?}", "status", (int)status, "what", kw_cl_error(status, what, sizeof(what)), "log",
			 (json_int_t)log_bytes, "code", (json_int_t)code_bytes, "kernels", kernels),
	       log ? log : "", log_bytes, code, code_bytes);
}

static _Noreturn void opencl_main(void)
{
	struct kw_buf text;
	json_t *question = NULL;
	struct kw_cl cl;
	char part[1 << 16], why[200];
	const char *specialise;
	ssize_t got;

	/* What a runtime prints must not be taken for the answer. */
	answer_fd = fcntl(1, F_DUPFD_CLOEXEC, 3);
	if (answer_fd < 0 || dup2(2, 1) < 0)
		_exit(1);
	kw_buf_init(&text, MAX_QUESTION);
	while ((got = read(0, part, sizeof(part))) > 0)
		kw_buf_add(&text, part, (size_t)got);
	if (text.full || kw_json_parse("question", text.ptr ? text.ptr : "", text.len, &question, NULL) != KW_OK)
		answer_error("the question cannot be read");
	/* PoCL: the sizes of work-groups to compile for, so that nothing is left to compile when a kernel is launched. */
	specialise = kw_json_get_str(question, "specialise", NULL);
	if (specialise)
		setenv("POCL_BINARY_SPECIALIZE_WG", specialise, 1);
	if (!kw_cl_load(&cl, why, sizeof(why)))
		answer_error(why);
	if (json_object_get(question, "source"))
		build(&cl, question);
	if (json_object_get(question, "measure"))
		answer(kw_cl_measure(&cl, question), "", 0, "", 0);
	list_devices(&cl);
}

/* Before main, as in spawn.c: test programs need no line for it. */
__attribute__((constructor)) static void become_opencl(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], kw_cl_word) == 0)
		opencl_main();
}
