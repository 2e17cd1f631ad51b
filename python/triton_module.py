"""Triton kernels that a module launches itself, in its player, where there is neither a compiler nor a file to write.

A kernel is described as text and plain values (python/triton_asked.py says how), the judge has it compiled, and what comes back is
loaded from memory and launched by ctypes: Triton's own launcher would be made by a C compiler at this moment. All of it lies open to
the candidate, as everything in a player does: the judge believes nothing that is asked here."""

import ast
import ctypes
import functools
import inspect
import json
import re
import struct
import sys
import types

import torch
import triton
import triton.compiler
import triton.language as tl
import triton.testing
from triton.backends.compiler import GPUTarget
from triton.backends.driver import GPUDriver
from triton.compiler.compiler import ASTSource, AsmDict, CompiledKernel, make_backend
from triton.runtime import _allocation, autotuner
from triton.runtime.driver import driver
from triton.runtime.errors import OutOfResources
from triton.runtime.jit import JITFunction

KNOWN = ("3.4", "3.5", "3.6")
ASKED_AT_ONCE = 32
FEW_MS = {"warmup": 2, "rep": 10}  # to choose among configs, in every process again
# What a launch may say of a compilation; paths to files and flags of the assembler are left out.
OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg", "enable_fp_fusion", "launch_cooperative_grid", "launch_pdl",
           "max_num_imprecise_acc_default", "default_dot_input_precision", "debug", "sanitize_overflow", "cluster_dims",
           "allow_fp8e4nv", "enable_reflect_ftz")


class Refused(Exception):
    """The compiler refused a kernel. kind: the class of the verdict."""

    def __init__(self, kind, line, message):
        super().__init__(message)
        self.kind, self.line, self.words = kind, line, message

    def __deepcopy__(self, memo):
        return Refused(self.kind, self.line, self.words)


# ---- what is asked ----


class Unsendable(Exception):
    pass


class Described:
    """Functions by their place in the list, the kernel first."""

    def __init__(self, kernel):
        self.places, self.functions = {}, []  # by their Python functions
        self.place(kernel, "jit")

    def place(self, function, kind):
        if function.fn in self.places:
            return self.places[function.fn]
        self.places[function.fn] = place = len(self.functions)
        self.functions.append(None)
        self.functions[place] = self.describe(function, kind)
        return place

    def describe(self, function, kind):
        fn = function.fn
        text = getattr(function, "src", None) or function._src
        above = next(i for i, line in enumerate(function.raw_src) if re.match(r"\s*(async\s+)?def\s", line))
        scope = {**fn.__globals__, **inspect.getclosurevars(fn).nonlocals}
        values = {}
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Name) and node.id in scope and node.id not in values:
                try:
                    values[node.id] = self.value(scope[node.id])
                except Unsendable:  # the compiler says that there is no such name, if it is looked at
                    pass
        return {"name": fn.__name__, "text": text, "line": function.starting_line_number + above, "kind": kind,
                "noinline": bool(getattr(function, "noinline", False)), "globals": values,
                "defaults": [self.value(d) for d in fn.__defaults__ or ()]}

    def value(self, x):
        if x is None or isinstance(x, (bool, str)) or (isinstance(x, int) and abs(x) < 1 << 53):
            return x if x is None or isinstance(x, (bool, str)) else int(x)
        if isinstance(x, int):
            return {"i": hex(x)}
        if isinstance(x, float):
            return {"f": float(x).hex()}
        if isinstance(x, (tuple, list)):
            return {"list" if isinstance(x, list) else "tuple": [self.value(e) for e in x]}
        if isinstance(x, tl.constexpr):
            return {"constexpr": self.value(x.value)}
        if type(x) is tl.dtype:
            return {"dtype": x.name}
        if isinstance(x, types.ModuleType):
            return {"module": self.named(x.__name__)}
        if type(x).__name__ == "InterpretedFunction":
            x = JITFunction(x.fn)
        owner, path = getattr(x, "__module__", None), getattr(x, "__qualname__", None)
        if isinstance(owner, str) and owner.split(".")[0] in ("triton", "math") and path:
            return {"of": [owner, path]}
        while isinstance(x, triton.runtime.KernelInterface) and not isinstance(x, JITFunction):
            x = x.fn  # autotuned or with heuristics, and called by another kernel: the function itself
        if isinstance(x, JITFunction):
            return {"function": self.place(x, "jit")}
        if type(x).__name__ == "ConstexprFunction":
            return {"function": self.place(x, "constexpr")}
        raise Unsendable(type(x).__name__)

    @staticmethod
    def named(module):
        if module.split(".")[0] not in ("triton", "math"):
            raise Unsendable(module)
        return module


def described(source, options):
    told = Described(source.fn)
    value = told.value
    try:
        return {"functions": told.functions, "signature": [[name, value(kind)] for name, kind in source.signature.items()],
                "constants": [[list(path), value(v)] for path, v in source.constants.items()],
                "attributes": [[list(path), [list(a) for a in found]] for path, found in source.attrs.items()],
                "options": {name: value(options[name]) for name in OPTIONS if options.get(name) is not None}}
    except Unsendable as e:
        raise Refused("type", 0, f"a kernel is given a {e} as a constant, which the compiler cannot be told")


# ---- what comes back ----


class Compiled(CompiledKernel):
    """As Triton's own, made of what the judge sends; which may be later, of several at once."""

    def __init__(self, source):
        self.src, self.module, self.function, self._run, self.hash = source, None, None, None, ""
        self.metadata_group, self.failed = {}, None

    def fill(self, head, code):
        from collections import namedtuple

        facts = json.loads(head["metadata"])
        facts["target"] = GPUTarget(*facts["target"].values()) if isinstance(facts.get("target"), dict) else driver.active.get_current_target()
        self.metadata = namedtuple("KernelMetadata", sorted(facts))(**facts)
        self.name, self.kernel = self.metadata.name, code
        self.hash = str(facts.get("hash", ""))
        self.packed_metadata = make_backend(self.metadata.target).pack_metadata(self.metadata)
        self.asm = AsmDict({"cubin": code})

    def _init_handles(self):
        if self.failed:
            raise self.failed
        super()._init_handles()


def error_of(head):
    first = head["errors"][0]
    if head.get("assertion"):
        from triton.compiler.errors import CompileTimeAssertionFailure

        failure = CompileTimeAssertionFailure.__new__(CompileTimeAssertionFailure)
        failure.args, failure.message, failure.error_message = (first["message"],), first["message"], first["message"]
        failure.kind, failure.line, failure.words = first["class"], first["line"], first["message"]
        failure.src, failure.node = None, None
        return failure
    return Refused(first["class"], first["line"], first["message"])


class Service:
    def __init__(self, ask):
        self.ask, self.later = ask, None

    def compile(self, source, target=None, options=None, **unused):
        if not isinstance(source, ASTSource):
            raise Refused("plan", 0, "only Triton's own language is compiled for a module, no file of an intermediate form")
        kernel = Compiled(source)
        try:
            source.fn.cache_key  # and with it the values that must stay as they are
        except Exception:
            pass
        if self.later is not None and len(self.later) < ASKED_AT_ONCE:
            self.later.append((kernel, described(source, options or {})))
            return kernel
        self.fetch([(kernel, described(source, options or {}))])
        if kernel.failed:
            raise kernel.failed
        return kernel

    def fetch(self, wanted):
        answer = self.ask(json.dumps({"kernels": [asked for _, asked in wanted]}).encode("utf-8"))
        end = answer.index(b"\n") + 1
        for (kernel, _), head in zip(wanted, json.loads(answer[:end])["kernels"]):
            if "errors" in head:
                kernel.failed = error_of(head)
                continue
            kernel.fill(head, answer[end:end + head["bytes"]])
            end += head["bytes"]

    def together(self, prune):
        """Configs are compiled side by side before they are tried one after the other."""

        def pruned(tuner, kwargs):
            configs = prune(tuner, kwargs)
            if len(configs) < 2 or self.later is not None:
                return configs
            self.later = []
            try:
                for config in configs:
                    if not config.pre_hook:
                        tuner.fn.run(**{**tuner.nargs, **kwargs, "warmup": True, **config.all_kwargs()})
            except Exception:  # it will be met again when the config is tried
                pass
            wanted, self.later = self.later, None
            if wanted:
                self.fetch(wanted)
            return configs

        return pruned


# ---- the driver ----


class Attribute:
    """Of enum CUdevice_attribute and CUfunction_attribute."""

    SHARED_OPTIN, REGISTERS, PROCESSORS, WARP, CLOCK, MEMORY_CLOCK, BUS, SHARED_ALL = 97, 12, 16, 10, 13, 36, 37, 81
    MOST_THREADS, STATIC_SHARED, LOCAL, FUNCTION_REGISTERS, DYNAMIC_SHARED, ANY_CLUSTER = 0, 1, 3, 4, 8, 14


class Cuda:
    """libcuda, as far as kernels need it."""

    def __init__(self):
        self.loaded = None

    @property
    def lib(self):
        if self.loaded is None:
            self.loaded = ctypes.CDLL("libcuda.so.1")
            self.launch = self.loaded.cuLaunchKernelEx
            self.launch.argtypes = [ctypes.c_void_p] * 4
        return self.loaded

    def must(self, result, call):
        if result:
            text = ctypes.c_char_p()
            self.lib.cuGetErrorString(result, ctypes.byref(text))
            raise RuntimeError(f"Triton Error [CUDA]: {(text.value or b'unknown error').decode()} ({call})")

    def of_device(self, what, device):
        n = ctypes.c_int()
        self.must(self.lib.cuDeviceGetAttribute(ctypes.byref(n), what, device), "cuDeviceGetAttribute")
        return n.value

    def of_function(self, what, function):
        n = ctypes.c_int()
        self.must(self.lib.cuFuncGetAttribute(ctypes.byref(n), what, function), "cuFuncGetAttribute")
        return n.value


cuda = Cuda()


class Utils:
    """Triton's cuda_utils, which it would compile."""

    @staticmethod
    def load_binary(name, code, shared, device):
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        torch.cuda.current_stream()  # there is a context
        cuda.must(cuda.lib.cuModuleLoadData(ctypes.byref(module), code), "cuModuleLoadData")
        cuda.must(cuda.lib.cuModuleGetFunction(ctypes.byref(function), module, name.encode()), "cuModuleGetFunction")
        most = cuda.of_device(Attribute.SHARED_OPTIN, device)
        if shared > 49152 and most > 49152:
            cuda.must(cuda.lib.cuFuncSetCacheConfig(function, 1), "cuFuncSetCacheConfig")
            room = most - cuda.of_function(Attribute.STATIC_SHARED, function)
            cuda.must(cuda.lib.cuFuncSetAttribute(function, Attribute.DYNAMIC_SHARED, room), "cuFuncSetAttribute")
        return (module.value, function.value, cuda.of_function(Attribute.FUNCTION_REGISTERS, function),
                cuda.of_function(Attribute.LOCAL, function) // 4, cuda.of_function(Attribute.MOST_THREADS, function))

    @staticmethod
    def get_device_properties(device):
        return {"max_shared_mem": cuda.of_device(Attribute.SHARED_OPTIN, device),
                "max_num_regs": cuda.of_device(Attribute.REGISTERS, device),
                "multiprocessor_count": cuda.of_device(Attribute.PROCESSORS, device),
                "warpSize": cuda.of_device(Attribute.WARP, device),
                "sm_clock_rate": cuda.of_device(Attribute.CLOCK, device),
                "mem_clock_rate": cuda.of_device(Attribute.MEMORY_CLOCK, device),
                "mem_bus_width": cuda.of_device(Attribute.BUS, device)}

    @staticmethod
    def set_printf_fifo_size(size):
        cuda.must(cuda.lib.cuCtxSetLimit(1, ctypes.c_size_t(size)), "cuCtxSetLimit")

    @staticmethod
    def fill_tma_descriptor(address, swizzle, size, kind, box, shape, strides, padding=0):
        """128 bytes, aligned to 64; innermost dim first."""
        rank = len(box)
        u32, u64 = ctypes.c_uint32, ctypes.c_uint64
        room = ctypes.create_string_buffer(128 + 64)
        at = (ctypes.addressof(room) + 63) & ~63
        dims = (u64 * rank)(*reversed([int(n) for n in shape]))
        steps = (u64 * rank)(*[size * int(n) for n in reversed(strides[:-1])], 0)
        cuda.must(cuda.lib.cuTensorMapEncodeTiled(
            ctypes.c_void_p(at), kind, u32(rank), ctypes.c_void_p(address), dims, steps, (u32 * rank)(*reversed([int(n) for n in box])),
            (u32 * rank)(*[1] * rank), 0, swizzle, 2, 1 if padding == 1 else 0), "cuTensorMapEncodeTiled")
        return ctypes.string_at(at, 128)


class Driver(GPUDriver):
    def __init__(self, sm):
        super().__init__()
        self.utils, self.launcher_cls, self.target = Utils(), Launcher, GPUTarget("cuda", sm, 32)
        if not torch.cuda.is_available():  # kernels may be asked for all the same
            self.get_current_device = lambda: 0
            self.get_current_stream = lambda device: 0

    def get_current_target(self):
        return self.target

    def get_active_torch_device(self):
        return torch.device("cuda", self.get_current_device())

    def get_device_interface(self):
        return torch.cuda

    @staticmethod
    def is_active():
        return True

    def map_python_to_cpp_type(self, kind):
        raise NotImplementedError("nothing is compiled from C here")

    def get_benchmarker(self):
        return triton.testing.do_bench

    def get_empty_cache_for_benchmark(self):
        return torch.empty(64 << 20, dtype=torch.int, device="cuda")

    def clear_cache(self, cache):
        cache.zero_()


# ---- a launch ----

NUMBERS = {"i1": "b", "i8": "b", "i16": "h", "i32": "i", "i64": "q", "u1": "B", "u8": "B", "u16": "H", "u32": "I", "u64": "Q",
           "fp16": "e", "fp32": "f", "f32": "f", "fp64": "d"}
# struct CUlaunchConfig: grid, block, shared, stream, attributes, how many; struct CUlaunchAttribute: id, and 64 bytes of a value.
CONFIG, STREAM_AT = struct.Struct("<7I4xQQI4x"), 32
GRID, STREAM, ONE_ATTRIBUTE = struct.Struct("<3I"), struct.Struct("<Q"), struct.Struct("<I4x3I52x")
COOPERATIVE, CLUSTER, CLUSTER_POLICY, SERIALIZATION = 2, 4, 5, 6
SPREAD = 1
MAP_BYTES = 128


def address_of(x, place):
    if isinstance(x, torch.Tensor):
        if not x.is_cuda and x.numel():
            raise ValueError(f"Pointer argument (at {place}) cannot be accessed from Triton (cpu tensor?)")
        return x.data_ptr()
    return 0 if x is None else x if isinstance(x, int) else x.data_ptr()


def bf16_bits(x):
    return struct.unpack("<I", struct.pack("<f", x))[0] >> 16


def flat(kinds):
    for kind in kinds:
        if isinstance(kind, tuple):
            yield from flat(kind)
        else:
            yield kind


def flat_values(kinds, values):
    for kind, value in zip(kinds, values):
        if isinstance(kind, tuple):
            yield from flat_values(kind, value)
        elif kind != "constexpr":
            yield value


def descriptor_kinds(kind, facts):
    """What one descriptor becomes behind the launch, as of Triton 3.6."""
    rank = re.match(r"tensordesc<[^[>]*\[([^]]*)\]", kind).group(1).count(",") + 1
    base = re.match(r"tensordesc<([^[>]*)\[", kind).group(1)
    head = ["map"] if facts else ["*" + base] + ["i64"] * (2 * rank) + ["i1"]
    return head + ["i32"] * rank + ["i64"] * rank


def descriptor_values(arg, facts):
    if not facts:
        return [arg.base, *arg.shape, *arg.strides, arg.padding == "nan", *arg.shape, *arg.strides]
    shape = list(arg.shape)
    if facts["fp4_padded"]:
        shape[-1] *= 2
    kind = {8: 10, 9: 8, 10: 9}.get(facts["elem_type"], facts["elem_type"])  # on the host they have other numbers
    filled = Utils.fill_tma_descriptor(arg.base.data_ptr(), facts["swizzle"], facts["elem_size"], kind, facts["block_size"], shape,
                                       arg.strides, 1 if arg.padding == "nan" else 0)
    return [filled, *arg.shape, *arg.strides]


class Launcher:
    """Arguments lie in one block of memory, each in a place of its own whose address never changes."""

    def __init__(self, source, facts):
        self.facts = facts
        self.kinds = list(source.signature.values())
        self.maps = [i for i, k in enumerate(self.kinds) if isinstance(k, str) and k.startswith("tensordesc")]
        about = list(getattr(facts, "tensordesc_meta", None) or [None] * len(self.maps))
        if self.maps and triton.__version__[:3] != "3.6":
            raise Refused("plan", 0, f"a descriptor that is made outside of the kernel needs Triton 3.6, and this is {triton.__version__}; "
                                     "make it in the kernel by tl.make_tensor_descriptor")
        self.about = dict(zip(self.maps, about))
        kinds = []
        for i, kind in enumerate(self.kinds):
            kinds += descriptor_kinds(kind, self.about[i]) if i in self.about else [kind]
        self.plain = not self.maps and not any(isinstance(k, tuple) for k in kinds)
        self.places = [k for k in flat(kinds) if k != "constexpr"]
        self.make_room()
        self.make_config()

    def make_room(self):
        kinds = [k for k in self.places] + ["u64", "u64"]  # scratch memory, and that of a profiler
        text, at, offsets = "<", 0, []
        for kind in kinds:
            code = "Q" if kind[0] == "*" else "128s" if kind == "map" else "H" if kind == "bf16" else NUMBERS[kind]
            size = struct.calcsize("<" + code)
            pad = -at % (64 if kind == "map" else 8)
            text += f"{pad}x{code}"
            offsets.append(at + pad)
            at += pad + size
        self.room = ctypes.create_string_buffer(at + 64)
        base = (ctypes.addressof(self.room) + 63) & ~63
        self.pack = functools.partial(struct.Struct(text).pack_into, self.room, base - ctypes.addressof(self.room))
        self.addresses = struct.pack(f"<{len(offsets)}Q", *[base + o for o in offsets])
        self.addresses = ctypes.create_string_buffer(self.addresses, len(self.addresses))
        self.pointers = [i for i, k in enumerate(self.places) if k[0] == "*"]
        self.halves = [i for i, k in enumerate(self.places) if k == "bf16"]
        self.passed = [i for i, k in enumerate(self.kinds) if k != "constexpr"]

    def make_config(self):
        facts = self.facts
        self.ctas = getattr(facts, "num_ctas", 1) or 1
        attributes = b""
        if getattr(facts, "launch_pdl", False):
            attributes += ONE_ATTRIBUTE.pack(SERIALIZATION, 1, 0, 0)
        if getattr(facts, "launch_cooperative_grid", False):
            attributes += ONE_ATTRIBUTE.pack(COOPERATIVE, 1, 0, 0)
        if self.ctas != 1:
            attributes += ONE_ATTRIBUTE.pack(CLUSTER, self.ctas, 1, 1) + ONE_ATTRIBUTE.pack(CLUSTER_POLICY, SPREAD, 0, 0)
        self.attributes = ctypes.create_string_buffer(attributes, max(1, len(attributes)))
        self.config = ctypes.create_string_buffer(CONFIG.pack(
            0, 0, 0, 32 * facts.num_warps, 1, 1, facts.shared, 0, ctypes.addressof(self.attributes), len(attributes) // ONE_ATTRIBUTE.size),
            CONFIG.size)
        self.launched = False

    def scratch(self, kind, programs, stream):
        size = getattr(self.facts, kind + "_scratch_size", 0) or 0
        if not size:
            return 0
        allocator = _allocation._allocator if kind == "global" else getattr(_allocation, "_profile_allocator", _allocation._allocator)
        allocate = allocator.get() if hasattr(allocator, "get") else allocator
        self.kept = allocate(programs * self.ctas * size, getattr(self.facts, kind + "_scratch_align", 1), stream)
        return address_of(self.kept, -1)

    def __call__(self, x, y, z, stream, function, packed, about, enter, leave, *args):
        if enter is not None:
            enter(about)
        if self.plain:
            values = [args[i] for i in self.passed]
        else:
            values = self.expanded(args)
        for i in self.pointers:
            values[i] = address_of(values[i], i)
        for i in self.halves:
            values[i] = bf16_bits(values[i])
        programs = x * y * z
        if programs > 0:
            self.pack(*values, self.scratch("global", programs, stream), self.scratch("profile", programs, stream))
            GRID.pack_into(self.config, 0, x * self.ctas, y, z)
            STREAM.pack_into(self.config, STREAM_AT, stream)
            if not self.launched:
                self.first(function)
            cuda.must(cuda.launch(self.config, function, self.addresses, None), "cuLaunchKernelEx")
        if leave is not None:
            leave(about)

    def first(self, function):
        cuda.lib
        if self.ctas == 16:
            cuda.must(cuda.lib.cuFuncSetAttribute(ctypes.c_void_p(function), Attribute.ANY_CLUSTER, 1), "cuFuncSetAttribute")
        self.launched = True

    def expanded(self, args):
        values = []
        for i, (kind, value) in enumerate(zip(self.kinds, args)):
            if i in self.about:
                values += descriptor_values(value, self.about[i])
            else:
                values += flat_values([kind], [value])
        return values


# ---- in the place of Triton's own ----


def install(ask, sm):
    """ask: bytes of a question to those of its answer."""
    if ".".join(triton.__version__.split(".")[:2]) not in KNOWN:
        raise ImportError(f"Triton {triton.__version__} is not known to this program, which knows {', '.join(KNOWN)}: install one of these")
    service = Service(ask)
    triton.compiler.compile = triton.compile = service.compile
    sys.modules["triton.compiler.compiler"].compile = service.compile
    driver.set_active(Driver(sm))
    autotuner.Autotuner.prune_configs = service.together(autotuner.Autotuner.prune_configs)
    bench = triton.testing.do_bench

    def quick(fn, warmup=25, rep=100, **more):
        return bench(fn, warmup=min(warmup, FEW_MS["warmup"]), rep=min(rep, FEW_MS["rep"]), **more)

    triton.testing.do_bench = quick
    return service
