"""Plays module-form candidates: Python files with a class ModelNew.

The judge starts one process of this file ahead, which imports torch once (a zygote), and asks it for players: copies of it, each in
namespaces of its own and a child of the judge. A player maps the judge's buffers, gives up what it does not need, and only then
runs the candidate. From that moment nothing in it is believed: what it tells the judge can only make a verdict worse.

Messages are the structs of src/device/wire.h; the layout of the report is that of src/device/module.c."""
import base64
import bisect
import ctypes
import faulthandler
import gc
import glob
import hashlib
import importlib.machinery
import importlib.util
import json
import linecache
import os
import pickle
import re
import resource
import signal
import socket
import struct
import sys
import threading
import time
import types

CONTROL = 3
START, MAP, LOCK, LOAD, RUN, STAGE, FETCH, FORK, SPEC, ANSWER, WATCHED, IMPORT = range(0x6B77, 0x6B83)
DRIVER, TRUSTED, TRITON, INTERPRETER = 1, 2, 4, 8
READY, LOADED, DONE, MACHINE, FORKED, RAISED, ASK = 0x7279, 0x727A, 0x727D, 0x7280, 0x7282, 0x7283, 0x7284
LANDLOCK, SECCOMP, RLIMITS, NNP, PID, NET, IPC, UTS, USERNS = 2, 4, 8, 32, 64, 128, 256, 512, 1024
REPLY = struct.Struct("<IiQQIIii160s")
ONE_MAP = struct.Struct("<QQQQII")
DEVICE_MAP = struct.Struct("<QQQII")
OUTPUT = struct.Struct("<QII8q8q")
TEXT_BYTES = 2048
MESSAGE_BYTES = 1 << 20
ASK_BYTES = 1 << 20  # of a question, at the end of the report
LIBRARY_BYTES = 512 << 20
PAGE_BYTES = 4096
MALLOC_KEEPS = 32 << 20  # DEFAULT_MMAP_THRESHOLD_MAX of glibc
# What happened, for the judge; src/device/module.c has the classes.
(MEMORY, SETUP, CRASH, EXITED, SYNTAX, UNDEFINED, INCLUDE, FORBIDDEN, PLAN, TYPE, ILLEGAL, RESOURCES, ARCHITECTURE, BUILD_TIME,
 LAUNCH_RESOURCES, TOO_MUCH) = range(1, 17)
# As what handles kernels classes what it refuses.
OF_KERNELS = {"syntax": SYNTAX, "undefined": UNDEFINED, "include": INCLUDE, "plan": PLAN, "type": TYPE, "resources": RESOURCES,
              "architecture": ARCHITECTURE, "timeout": BUILD_TIME,
              "illegal": ILLEGAL, "too_much": TOO_MUCH}  # these two of an interpreter
# What moves data or makes room for it, and computes nothing.
MOVING = frozenset("""
    alias arange as_strided cat clone constant_pad_nd contiguous copy copy_ detach empty empty_like empty_permuted empty_strided expand
    fill fill_ flatten full full_like index_select is_same_size item lift_fresh _local_scalar_dense narrow new_empty new_full
    new_zeros new_empty_strided ones ones_like permute pin_memory record_stream reshape _reshape_alias resize_ select set_ slice split
    split_with_sizes squeeze stack t _to_copy to transpose unbind unsafe_view _unsafe_view unsqueeze view view_as_real
    view_as_complex zero_ zeros zeros_like scalar_tensor resolve_conj resolve_neg unfold movedim expand_as view_as chunk tensor_split requires_grad_ set_""".split())
# As torch and cupy say that there is no driver.
WANTS_GPU = re.compile("NVIDIA driver|not compiled with CUDA|cudaError(InsufficientDriver|NoDevice)|No CUDA GPUs|libcuda")
MARK = "kwright"   # in a profile, where a call begins and ends
UNWATCHED = "!"   # in place of a call's operations: what watched them was ended
# In place of the number of a dtype: the output is none that can be compared.
NO_TENSOR, ELSEWHERE, COUNT, UNREADABLE = 1000, 1001, 1002, 1003

libc = ctypes.PyDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.syscall.restype = ctypes.c_long
SYS_CLONE, SYS_SECCOMP, SYS_CAPSET = {"x86_64": (56, 317, 126), "aarch64": (220, 277, 91)}[os.uname().machine]


def system(function, *args):
    """A call of the C library that must not fail."""
    result = function(*args)
    if result == -1 or result == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), f"{function.__name__}: {os.strerror(ctypes.get_errno())}")
    return result


def words_of(e):
    return str(e) if isinstance(e, Lacking) else f"{type(e).__name__}: {e}"


def reply(control, kind, number=0, nonce=0, layers=0, abi=0, text="", clock=0):
    control.send(REPLY.pack(kind, number, nonce, clock, 0, layers, abi, 0, text.encode("utf-8", "replace")[:159]))


# ---- the zygote ----

CLONE = {"user": 0x10000000, "pid": 0x20000000, "net": 0x40000000, "ipc": 0x08000000, "uts": 0x04000000}
CLONE_PARENT, CLONE_CHILD_CLEARTID, CLONE_CHILD_SETTID = 0x8000, 0x200000, 0x1000000
ATTEMPTS = [
    (("pid", "net", "ipc", "uts"), PID | NET | IPC | UTS),
    (("pid", "net", "ipc", "uts", "user"), PID | NET | IPC | UTS | USERNS),
    (("pid", "ipc", "uts"), PID | IPC | UTS),
    (("pid", "ipc", "uts", "user"), PID | IPC | UTS | USERNS),
    ((), 0),
]


def fork_for_the_judge(bare):
    """A copy of this process that is the judge's child, in namespaces where they are granted: (pid or 0, layers).

    bare: none, as a GPU's driver needs the machine's own /proc."""
    tid = ctypes.c_void_p()
    libc.prctl(40, ctypes.byref(tid), 0, 0, 0)  # PR_GET_TID_ADDRESS: where the C library keeps the number of this thread
    api = ctypes.pythonapi
    for names, layers in ATTEMPTS[-1:] if bare else ATTEMPTS:
        flags = CLONE_PARENT | signal.SIGCHLD
        if tid.value:
            flags |= CLONE_CHILD_CLEARTID | CLONE_CHILD_SETTID
        for name in names:
            flags |= CLONE[name]
        api.PyOS_BeforeFork()
        if SYS_CLONE == 56:
            pid = libc.syscall(ctypes.c_long(SYS_CLONE), ctypes.c_ulong(flags), None, None, tid, None)
        else:  # the last two the other way round
            pid = libc.syscall(ctypes.c_long(SYS_CLONE), ctypes.c_ulong(flags), None, None, None, tid)
        if pid == 0:
            api.PyOS_AfterFork_Child()
            return 0, layers
        error = ctypes.get_errno()
        api.PyOS_AfterFork_Parent()
        if pid > 0:
            return pid, layers
    raise OSError(error, f"cannot make a player: {os.strerror(error)}")


def zygote():
    sys.path = [p for p in sys.path if p]  # nothing is imported from the working folder
    control = socket.socket(fileno=CONTROL)
    data, fds, _, _ = socket.recv_fds(control, MESSAGE_BYTES, 1)
    with open(fds[0], "rb") as f:
        seccomp = f.read()
    flags, = struct.unpack_from("<I", data, 4)
    try:
        prepare(flags & DRIVER, flags & TRUSTED)
    except BaseException as e:
        reply(control, MACHINE, text=f"{type(e).__name__}: {e}")
        return
    gc.collect()
    gc.freeze()
    reply(control, READY, text=torch.__version__)
    while True:
        data, fds, _, _ = socket.recv_fds(control, MESSAGE_BYTES, 1)
        if not data:
            return
        op, flags, gpu = struct.unpack_from("<III", data)
        if flags & TRITON:
            import_triton(flags & INTERPRETER)
        if op == IMPORT:
            continue
        try:
            pid, layers = fork_for_the_judge(flags & (DRIVER | TRUSTED))  # neither driver nor compilers work in namespaces
        except OSError as e:
            reply(control, MACHINE, number=e.errno or 0, text=str(e))
            os.close(fds[0])
            continue
        if pid == 0:
            control.detach()
            os.dup2(fds[0], CONTROL)
            os.close(fds[0])
            Player(seccomp, layers, bool(flags & TRUSTED)).live(gpu - 1 if gpu else None)
            os._exit(0)
        os.close(fds[0])
        reply(control, FORKED, number=pid, layers=layers)


def prepare(driver, trusted):
    """What candidates are likely to want, and what would read files or start programs later.

    driver: players will use a GPU. Nothing may have started its driver before they are copied, and cpp_extension would ask for a GPU.
    trusted: they are baselines, which have the user's own environment and can read what they import, and from which copies must be possible
    all the same."""
    global torch, profile, record_function
    if trusted:
        os.environ.update(OPENBLAS_NUM_THREADS="1", PYTORCH_NVML_BASED_CUDA_CHECK="1", OMP_WAIT_POLICY="passive", OMP_DYNAMIC="false",
                          KMP_AFFINITY="disabled")
        # A pool of compilers would go on beside a measurement.
        os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
    gc.disable()  # imports make much that stays: looking for garbage in it is a tenth of them
    import torch
    import torch.autograd.profiler
    import torch.nn.functional
    from torch.autograd.profiler import profile, record_function  # by name: before a candidate can put others in their place

    if not trusted:
        available = torch.cuda.is_available
        if driver:  # for a warning, and by the driver
            torch.cuda.is_available = lambda: True
        import torch.utils.cpp_extension
        torch.cuda.is_available = available
        find_libraries()
        os.environ["CUPY_CACHE_IN_MEMORY"] = "1"  # no files
    torch.set_grad_enabled(False)
    torch.zeros(2).add_(1)
    gc.enable()


def find_libraries():
    """Packages ask for libraries by name when they are imported (cupy does), for which Python starts ldconfig: its table is read instead."""
    import ctypes.util

    try:
        with open("/etc/ld.so.cache", "rb") as f:
            table = f.read()
    except OSError:
        table = b""

    def find_library(name):
        found = re.findall(rb"(?<=[\0/])lib" + re.escape(os.fsencode(name)) + rb"\.so[.0-9]*(?=\0)", table)
        return os.fsdecode(max(found, key=len)) if found else None

    ctypes.util.find_library = find_library


def import_triton(interpreted):
    """Once, for all players of modules that want it; without one they meet that themselves."""
    if "triton" in sys.modules:
        return
    if interpreted:  # which decides what its own functions become
        os.environ["TRITON_INTERPRET"] = "1"
    try:
        import triton
        import triton.language.extra.libdevice
        import triton.testing
        import triton.compiler.code_generator  # else with the first launch, in each player
    except Exception:
        pass
    gc.collect()
    gc.freeze()


# ---- a GPU ----

class DeviceMemory:
    """Bytes of a device for torch.as_tensor."""

    def __init__(self, address, size):
        self.__cuda_array_interface__ = {"shape": (size,), "typestr": "|u1", "data": (address, False), "version": 3, "strides": None}


class Lacking(Exception):
    """What a machine has not, as a sentence."""


class Cuda:
    """The judge's buffers in the context that PyTorch uses; each between granules of addresses where nothing is."""

    def __init__(self, ordinal):
        if not torch.backends.cuda.is_built():
            raise Lacking(f"PyTorch {torch.__version__} is built without CUDA and cannot use this GPU; install one with CUDA")
        torch.cuda.set_device(ordinal)
        torch.zeros(1, device="cuda")
        self.lib = ctypes.CDLL("libcuda.so.1")
        self.ordinal = ordinal
        prop = struct.pack("<iiiiQQ", 1, 1, 1, ordinal, 0, 0)
        granule = ctypes.c_size_t()
        self.must(self.lib.cuMemGetAllocationGranularity(ctypes.byref(granule), prop, 0), "cuMemGetAllocationGranularity")
        self.granule = granule.value
        self.mapped = []

    def must(self, result, call):
        if result:
            raise OSError(result, f"{call}: CUDA error {result}")

    def map(self, fd, size, read_only):
        u64 = ctypes.c_uint64
        handle, at = u64(), u64()
        self.must(self.lib.cuMemImportFromShareableHandle(ctypes.byref(handle), ctypes.c_void_p(fd), 1), "cuMemImportFromShareableHandle")
        self.must(self.lib.cuMemAddressReserve(ctypes.byref(at), ctypes.c_size_t(size + 2 * self.granule), ctypes.c_size_t(0), u64(0),
                                               u64(0)), "cuMemAddressReserve")
        place = u64(at.value + self.granule)
        self.must(self.lib.cuMemMap(place, ctypes.c_size_t(size), ctypes.c_size_t(0), handle, u64(0)), "cuMemMap")
        access = struct.pack("<iii", 1, self.ordinal, 1 if read_only else 3)
        self.must(self.lib.cuMemSetAccess(place, ctypes.c_size_t(size), access, ctypes.c_size_t(1)), "cuMemSetAccess")
        self.must(self.lib.cuMemRelease(handle), "cuMemRelease")
        self.mapped.append((at.value, size))
        return place.value

    def unmap_all(self):
        for at, size in self.mapped:
            self.must(self.lib.cuMemUnmap(ctypes.c_uint64(at + self.granule), ctypes.c_size_t(size)), "cuMemUnmap")
            self.must(self.lib.cuMemAddressFree(ctypes.c_uint64(at), ctypes.c_size_t(size + 2 * self.granule)), "cuMemAddressFree")
        self.mapped = []

    def wait(self):
        torch.cuda.synchronize()


def landlock(read, device):
    """Files that may be read, and device files that may be written too; nothing else. False where the kernel has no Landlock."""
    call = lambda number, *args: libc.syscall(ctypes.c_long(number), *args)
    abi = call(444, None, ctypes.c_size_t(0), ctypes.c_uint(1))
    if abi < 1:
        return False
    rights = (1 << 13) - 1 | (abi >= 2) << 13 | (abi >= 3) << 14 | (abi >= 5) << 15
    attr = struct.pack("<QQQ", rights, 3 if abi >= 4 else 0, 3 if abi >= 6 else 0)
    rules = call(444, attr, ctypes.c_size_t(24 if abi >= 6 else 16 if abi >= 4 else 8), ctypes.c_uint(0))
    if rules < 0:
        return False
    for path in [*read, *device]:
        try:
            fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue
        folder = os.path.isdir(path)
        allowed = (1 | 4 | 8 if folder else 1 | 4) | (2 | ((abi >= 5) << 15) if path in device and not folder else 0)
        call(445, ctypes.c_int(rules), ctypes.c_int(1), struct.pack("<Qi", allowed, fd), ctypes.c_uint(0))
        os.close(fd)
    # Threads that are there already (the driver's) are bound too where the kernel can do that.
    done = call(446, ctypes.c_int(rules), ctypes.c_uint(8 if abi >= 8 else 0)) == 0
    os.close(rules)
    return done


# ---- what may be asked of the system ----

FORBIDDEN_EVENTS = (
    "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty", "subprocess.Popen", "pty.spawn",
    "os.kill", "os.killpg", "os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod",
    "os.chown", "socket.__new__", "socket.connect", "socket.bind", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto",
    "ftplib.connect", "urllib.Request", "http.client.connect", "tempfile.mkstemp", "tempfile.mkdtemp", "shutil.rmtree",
)


class Player:
    """One player: everything in it lies open to the candidate once that is loaded."""

    def __init__(self, seccomp, layers, trusted):
        self.seccomp, self.layers, self.trusted = seccomp, layers, trusted
        self.baseline = self.cuda = None
        self.kept = None  # the baseline of the session before, until it is asked for again
        self.control = socket.socket(fileno=CONTROL)
        self.model = self.arguments = self.spec = self.report = None
        self.copies = False
        self.held = []
        self.ready_arguments = []
        self.nonce, self.asking = 0, threading.Lock()

    # -- trusted start-up --

    def live(self, gpu):
        """gpu: of which a context is made before there is a session; None: with it."""
        try:
            libc.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
            os.setsid()
            if gpu is not None:
                self.make_ready(gpu)
            self.start(self.control.recv(MESSAGE_BYTES))
            if not self.trusted:
                self.lock_down()
        except BaseException as e:
            reply(self.control, MACHINE, number=getattr(e, "errno", 0) or 0, text=words_of(e))
            return
        reply(self.control, READY, layers=self.layers)
        while True:
            data, fds, _, _ = socket.recv_fds(self.control, MESSAGE_BYTES, 1)
            if not data:
                return
            op, count, nonce = struct.unpack_from("<IIQ", data)
            self.nonce = nonce
            if op == LOAD:
                self.load(fds[0], count != 0, nonce)
            elif op == STAGE:
                self.run_stage(struct.unpack_from(f"<{count}i", data, 16), nonce)
            elif op == FETCH and self.trusted:
                self.fetch(struct.unpack_from(f"<{count}i", data, 16))
                reply(self.control, DONE, nonce=nonce)
            elif op == LOCK and self.trusted:
                self.leave()
            elif op == START and self.trusted:
                self.start_again(data)
            elif op in (RUN, WATCHED):
                self.run(struct.unpack_from(f"<{count}i", data, 16), nonce, op == WATCHED)
            else:
                return

    def make_ready(self, gpu):
        """Where that fails, the one that is started with a session says it."""
        try:
            self.cuda = Cuda(gpu)
            x = torch.zeros(2, 2, device="cuda")
            torch.empty_like(x).copy_(x.t())
            with Watched():  # what starts with the first of them takes longer than most calls
                x + x
            self.cuda.wait()
        except BaseException:
            os._exit(1)
        reply(self.control, READY)

    def start(self, data):
        op, _, threads, _, _, base, size, self.buffers, self.slots, _, _, device, copies = struct.unpack_from("<4Iq2Q2I4I", data)
        if op != START:
            raise OSError(71, "the judge's first word is not understood")
        self.maps, self.arena = [], (base, size)
        if copies:
            self.tell_spec()
            self.cuda = self.cuda or Cuda(device)
            self.map_device()
        else:
            fixed = 0x02 | 0x20 | 0x4000 | 0x100000  # private, anonymous, no reserve, at this address or not at all
            system(libc.mmap, base, size, 0, fixed, -1, 0)
            self.map_memory()
            self.tell_spec()
        self.starts = sorted((start, i) for i, (start, _) in enumerate(self.maps))
        self.device_type = self.spec["device"]
        self.numbers = {getattr(torch, name): n for name, n in self.spec["dtypes"].items() if hasattr(torch, name)}
        self.outputs = self.spec["outputs"]
        torch.set_num_threads(threads)
        self.prepare_triton()
        if self.spec["perturb"]:
            libc.mallopt(-6, self.spec["perturb"])  # fresh memory is no zeros, and not the same twice
        # Where malloc's own limits end up in a program that has run for a while. They rise with what is freed, so that two players which
        # compute the same would give memory back, and wait for it again in their calls, at different sizes.
        libc.mallopt(-3, MALLOC_KEEPS)
        libc.mallopt(-1, 2 * MALLOC_KEEPS)
        small = torch.zeros(1, device=self.device_type)
        answer = tuple(small for _ in self.outputs)
        # On a GPU it launches something all the same: that a device begins to work for another process takes time too.
        self.model = (lambda *args, **kwargs: (small.zero_(), answer)[1]) if self.cuda else lambda *args, **kwargs: answer
        self.names = {}

    def start_again(self, data):
        """On the buffers of another session; what was made of the reference stays."""
        try:
            self.start(data)
        except BaseException as e:
            reply(self.control, MACHINE, number=getattr(e, "errno", 0) or 0, text=words_of(e))
            os._exit(1)
        reply(self.control, READY, layers=self.layers)

    def leave(self):
        """The buffers of a session go away, and with them the memory that only served it."""
        self.held, self.ready_arguments, self.model = [], [], None
        if self.baseline:
            self.baseline.leave()
            # Empty batches come before the next load, and shall not be staged as the baseline's calls.
            self.kept, self.baseline = self.baseline, None
        gc.collect()
        if self.cuda:
            self.cuda.unmap_all()
            torch.cuda.empty_cache()
        else:
            system(libc.munmap, *self.arena)
        system(libc.munmap, self.report_at, self.report_bytes)
        reply(self.control, READY)

    def map_memory(self):
        while len(self.maps) < self.slots * self.buffers:
            data, fds, _, _ = socket.recv_fds(self.control, MESSAGE_BYTES, 64)
            for i, fd in enumerate(fds):
                at, file_bytes, offset, size, read_only, _ = ONE_MAP.unpack_from(data, 8 + i * ONE_MAP.size)
                system(libc.mmap, at, file_bytes, 1 if read_only else 3, 0x01 | 0x10 | 0x8000, fd, 0)
                os.close(fd)
                self.maps.append((at + offset, size))

    def map_device(self):
        while len(self.maps) < self.slots * self.buffers:
            data, fds, _, _ = socket.recv_fds(self.control, MESSAGE_BYTES, 64)
            for i, fd in enumerate(fds):
                allocation, offset, size, read_only, _ = DEVICE_MAP.unpack_from(data, 8 + i * DEVICE_MAP.size)
                self.maps.append((self.cuda.map(fd, allocation, read_only) + offset, size))
                os.close(fd)

    def tell_spec(self):
        data, fds, _, _ = socket.recv_fds(self.control, MESSAGE_BYTES, 2)
        self.report_bytes = os.fstat(fds[0]).st_size
        self.report_at = system(libc.mmap, None, self.report_bytes, 3, 0x01, fds[0], 0)
        self.report = memoryview((ctypes.c_char * self.report_bytes).from_address(self.report_at)).cast("B")
        with open(fds[1], "rb") as f:
            self.spec = json.load(f)
        faulthandler.enable(os.fdopen(fds[0], "wb", buffering=0), all_threads=False)

    def lock_down(self):
        # How much memory it may take is set by the judge, from outside.
        limits = [(resource.RLIMIT_CORE, 0), (resource.RLIMIT_FSIZE, LIBRARY_BYTES)]
        if not self.cuda:  # whose driver opens files and pins memory as it likes
            limits += [(resource.RLIMIT_NOFILE, 256), (resource.RLIMIT_MEMLOCK, 0)]
        for what, value in limits:
            hard = resource.getrlimit(what)[1]
            value = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.setrlimit(what, (value, value))
        self.layers |= RLIMITS
        head = struct.pack("<Ii", 0x20080522, 0)
        if libc.syscall(ctypes.c_long(SYS_CAPSET), head, bytes(24)) != 0:
            raise OSError(ctypes.get_errno(), "capabilities cannot be given up")
        system(libc.prctl, 38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
        self.layers |= NNP
        if self.cuda and landlock(self.spec["read"] + [f"/proc/{os.getpid()}"], glob.glob("/dev/nvidia*")):
            self.layers |= LANDLOCK
        if self.seccomp:
            code = ctypes.create_string_buffer(self.seccomp, len(self.seccomp))
            program = struct.pack("<HxxxxxxQ", len(self.seccomp) // 8, ctypes.addressof(code))
            system(libc.syscall, ctypes.c_long(SYS_SECCOMP), ctypes.c_uint(1), ctypes.c_uint(5 if self.cuda else 4), program)
            self.layers |= SECCOMP

    # -- the candidate --

    def load_baseline(self, nonce):
        """python/baseline.py, which came with the spec: a candidate's process has nothing of it."""
        told = self.spec["baseline"]
        self.loading = True
        try:
            kept, self.kept = self.kept, None
            self.baseline = kept if kept and kept.fits(told) else None
            if not self.baseline:
                code = types.ModuleType("kwright_baseline")
                exec(compile(told["code"], "<kwright/python/baseline.py>", "exec"), code.__dict__)
                self.leaves, self.baseline = code.leaves, code.Baseline(told, self.device_type)
                self.make(self.baseline.made())
                self.baseline.settle(self.model, self.how["weights"] if self.how else {})
            else:
                self.model, self.baseline.told = self.baseline.model, told
                if self.how and isinstance(self.model, torch.nn.Module):
                    self.place_weights()
            self.model, self.names = self.baseline.played, {}
            if not self.cuda:
                with Watched():  # what the calls of a candidate that are watched leave behind in its process: a thread of the profiler
                    pass
            self.stage([0])
            if self.baseline.changed is None:
                self.baseline.look_for_changes(self.ready_arguments[0])
                self.stage([0])
            self.baseline.compile(*self.ready_arguments[0])
            if self.cuda:
                self.write(self.baseline.choose(self.ready_arguments[0]))
        except BaseException as e:
            return self.raised(e, nonce)
        self.loading = False
        gc.collect()
        gc.disable()
        reply(self.control, LOADED, nonce=nonce)

    def load(self, fd, copies, nonce):
        how = self.spec.get("stand_in")
        self.how = pickle.loads(base64.b64decode(how)) if how else None
        if self.trusted:
            os.close(fd)
            return self.load_baseline(nonce)
        source = self.unpack(fd)
        self.copies = copies
        name = self.spec["file"]
        self.loading = True
        linecache.cache[name] = (len(source), None, source.splitlines(True), name)
        sys.addaudithook(self.watch)
        try:
            # PyTorch's own default is TF32 in convolutions, which references and baselines do without.
            torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = self.spec["tf32"]
            torch.compile = no_compile
            torch.utils.cpp_extension.load_inline = self.load_inline
            self.module = module = types.ModuleType("candidate")
            module.__file__ = name
            sys.modules["candidate"] = module
            exec(compile(source, name, "exec"), module.__dict__)
            made = getattr(module, "ModelNew", None)
            if not callable(made):
                return self.tell(PLAN, f"there is no class ModelNew in {name}", nonce)
            self.make(made)
        except BaseException as e:
            return self.raised(e, nonce)
        self.loading = False
        gc.disable()
        reply(self.control, LOADED, nonce=nonce)

    def unpack(self, fd):
        """The source; the libraries behind it become files in memory, which can be loaded by their descriptors."""
        with open(fd, "rb") as f:
            f.readline()
            head = json.loads(f.readline())
            source = f.read(head["source"]).decode("utf-8")
            self.libraries = {}
            hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
            resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
            for one in head["libraries"]:
                library = os.memfd_create("library")
                with open(os.dup(library), "wb") as out:
                    out.write(f.read(one["bytes"]))
                self.libraries[one["key"]] = (one["name"], library)
        resource.setrlimit(resource.RLIMIT_FSIZE, (self.report_bytes, self.report_bytes))
        return source

    def prepare_triton(self):
        """Files of python/ that came with the spec of a module that imports it: its kernels are compiled by the judge's compiler, or
        interpreted."""
        told = self.spec.get("triton")
        if told and told["interpreted"] and not importlib.util.find_spec("numpy"):
            raise Lacking("Triton's interpreter needs numpy, which it does not bring: pip install numpy")
        if not told or "triton" not in sys.modules:
            return
        for name, text in told["files"]:
            code = sys.modules["kwright_" + name] = types.ModuleType("kwright_" + name)
            exec(compile(text, f"<kwright/python/{name}.py>", "exec"), code.__dict__)
        code.install(self.ask, told["sm"])

    def ask(self, question):
        """Of the judge, while a command is carried out; the clock runs on."""
        if len(question) > ASK_BYTES:
            raise RuntimeError(f"a Triton kernel of {len(question)} bytes with what it refers to: at most {ASK_BYTES} can be compiled at once")
        with self.asking:
            begin = self.report_bytes - ASK_BYTES
            self.report[begin:begin + len(question)] = question
            reply(self.control, ASK, number=len(question), nonce=self.nonce)
            data, fds, _, _ = socket.recv_fds(self.control, MESSAGE_BYTES, 1)
            if not data or struct.unpack_from("<I", data)[0] != ANSWER:
                os._exit(121)
            with open(fds[0], "rb") as f:
                return f.read()

    def load_inline(self, *args, **kwargs):
        """What was compiled before; by content, whatever it is called."""
        key = key_of(**{**dict(zip(INLINE_PARAMETERS, args)), **kwargs})
        if key not in self.libraries:
            raise RuntimeError("load_inline is given sources that it was not given when the candidate was built; give it constants, at "
                               "import or in the constructor")
        name, library = self.libraries[key]
        place = f"/proc/self/fd/{library}"
        loader = importlib.machinery.ExtensionFileLoader(name, place)
        module = importlib.util.module_from_spec(importlib.machinery.ModuleSpec(name, loader, origin=place))
        loader.exec_module(module)
        return module

    def make(self, made):
        if not self.how:
            self.model = made()
            self.names = self.parameters()
            return
        args, kwargs = self.how["init"]
        self.model = made(*args, **kwargs)
        if isinstance(self.model, torch.nn.Module):
            self.model.train(not self.spec["eval"])
            quiet(self.model)
            self.model.to(self.device_type)
            self.place_weights()
        elif self.how["weights"]:
            raise TypeError("ModelNew is no torch.nn.Module, and cannot be given the reference's weights")

    def place_weights(self):
        """By their names; those without a match by their order and shapes."""
        own = dict(self.model.named_parameters(remove_duplicate=False))
        own.update(self.model.named_buffers(remove_duplicate=False))
        inputs = {t["name"]: t for t in self.spec["inputs"]}
        rest = {path: self.tensor(0, inputs[name]) for path, name in self.how["weights"].items()}
        for path in [p for p in rest if p in own and own[p].shape == rest[p].shape]:
            own.pop(path).data.copy_(rest.pop(path))
        for path, value in list(rest.items()):
            fit = next((p for p, t in own.items() if t.shape == value.shape), None)
            owner, _, last = path.rpartition(".")
            if fit:
                own.pop(fit).data.copy_(value)
            elif type(getattr(attribute(self.model, owner), last, None)) is torch.Tensor:
                setattr(attribute(self.model, owner), last, value.clone())  # no parameter, but a tensor of that name
            else:
                raise TypeError(f"ModelNew has no tensor for the reference's '{path}' of shape {list(value.shape)}")

    def parameters(self):
        """Parameters of the task that forward has a name for."""
        import inspect

        try:
            known = inspect.signature(getattr(self.model, "forward", self.model)).parameters
        except (TypeError, ValueError):
            return {}
        return {n: v for n, v in self.spec["params"].items() if n in known}

    def watch(self, event, args):
        if event == "open":
            path, mode, flags = args
            flags = flags or 0
            if isinstance(path, int) or (not flags & 0o3103 and self.may_read(path)):
                return
            what = f'open("{path}")'
        elif event in ("os.listdir", "os.scandir"):
            if not args or args[0] is None or isinstance(args[0], int) or self.may_read(args[0]):
                return
            what = f'{event}("{args[0]}")'
        elif event.startswith(FORBIDDEN_EVENTS):
            what = f"{event}{args!r}"[:200]
        else:
            return
        if by_triton(sys._getframe()):
            self.tell(SETUP, "Triton asked for a file or a compiler of its own, which a module may not have; kernels with @triton.jit that "
                             "are launched as usual are compiled for it" + self.place(), 0)
        else:
            self.tell(FORBIDDEN, f"it asked the system for what a kernel never needs: {what}{self.place()}", 0)
        os._exit(122)

    def may_read(self, path):
        path = os.path.abspath(os.fsdecode(path))
        return any(path == r or path.startswith(r.rstrip("/") + "/") for r in self.spec["read"])

    def place(self):
        frame = sys._getframe(2)
        while frame and frame.f_code.co_filename != self.spec["file"]:
            frame = frame.f_back
        return f" ({self.spec['file']}:{frame.f_lineno})" if frame else ""

    # -- calls --

    def run_stage(self, order, nonce):
        try:
            self.stage(order)
        except BaseException as e:
            if not self.trusted:  # whose end says enough
                raise
            return self.raised(e, nonce)
        reply(self.control, DONE, nonce=nonce)

    def stage(self, order):
        """Before the clock runs: what the last batch gave is dropped, and arguments are made anew."""
        self.held = []
        if self.baseline:
            self.baseline.forget()
        if self.copies:
            self.room = [[self.tensor(slot, o) for o in self.outputs] for slot in order]
        self.ready_arguments = [self.call_of({t["name"]: self.tensor(slot, t) for t in self.spec["inputs"]}) for slot in order]
        if self.baseline and order:
            self.ready_arguments = self.baseline.stage(self.ready_arguments,
                                                       {t["name"]: self.tensor(order[0], t) for t in self.spec["inputs"]})
        if order and self.baseline and self.baseline.graphs:
            self.baseline.capture(self.ready_arguments)
        elif order and (self.baseline or not self.cuda):
            self.make_room(len(order))

    def make_room(self, calls):
        """Memory for the answers is there when the clock runs, as in a program that has run for a while."""
        room = [torch.empty(o["shape"], dtype=getattr(torch, o["dtype"]), device=self.device_type) for _ in range(calls + 2)
                for o in self.outputs]
        if self.cuda:
            self.cuda.wait()
            return
        for t in room:  # a byte of each page: what was never touched is no memory yet, and what is touched whole would be in the caches
            t.view(-1).view(torch.uint8)[::PAGE_BYTES].fill_(0)

    def fetch(self, order):
        """What the last batch has computed goes to where the judge reads it; no clock runs."""
        room = [[self.tensor(slot, o) for o in self.outputs] for slot in order]
        for into, got in zip(room, self.held):
            for o, to, t in zip(self.outputs, into, got):
                if isinstance(t, torch.Tensor) and list(t.shape) == o["shape"] and t.dtype == getattr(torch, o["dtype"]):
                    to.copy_(t)
        if self.cuda:
            self.cuda.wait()

    def call_of(self, tensors):
        if not getattr(self, "how", None):
            return list(tensors.values()), self.names
        return placed(self.how["args"], tensors), placed(self.how["kwargs"], tensors)

    def tensor(self, slot, t):
        address, size = self.maps[slot * self.buffers + t["buffer"]]
        dtype = getattr(torch, t["dtype"])
        if size == 0:
            return torch.empty_strided(t["shape"], t["strides"], dtype=dtype, device=self.device_type)
        if self.cuda:
            return torch.as_tensor(DeviceMemory(address, size), device="cuda").view(dtype).as_strided(t["shape"], t["strides"])
        raw = (ctypes.c_char * size).from_address(address)
        return torch.frombuffer(raw, dtype=dtype).as_strided(t["shape"], t["strides"])

    def run_baseline(self, nonce):
        """On a GPU, whose own clock may be believed here: it does not see what it takes to wake this process."""
        model, results, begin = self.model, [], clock()
        first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        try:
            first.record()
            if self.baseline.graphs:
                results = self.baseline.replay()
            else:
                for args, kwargs in self.ready_arguments:
                    results.append(model(*args, **kwargs))
            last.record()
            self.cuda.wait()
        except BaseException as e:
            return self.raised(e, nonce)
        took = clock() - begin
        self.held = [self.answer(result, i, i * len(self.outputs)) for i, result in enumerate(results)]
        reply(self.control, DONE, nonce=nonce, clock=max(took, 1), text=str(int(first.elapsed_time(last) * 1e6)))

    def run(self, order, nonce, watched=False):
        if self.baseline and self.cuda and order:
            return self.run_baseline(nonce)
        model, results, begin = self.model, [], clock()
        try:
            if watched:
                with Watched() as seen:
                    results = [model(*args, **kwargs) for args, kwargs in self.ready_arguments]
                self.write(" ".join(sorted(seen.names)) if seen.all_the_time else UNWATCHED)
            elif self.copies:  # each answer at once, or they would all take memory
                for i, (args, kwargs) in enumerate(self.ready_arguments):
                    self.answer(model(*args, **kwargs), i, i * len(self.outputs))
            else:
                for args, kwargs in self.ready_arguments:
                    results.append(model(*args, **kwargs))
            for i, result in enumerate(results):
                results[i] = self.answer(result, i, i * len(self.outputs))
            if self.cuda:
                self.cuda.wait()
        except BaseException as e:
            return self.raised(e, nonce)
        self.held = results
        reply(self.control, DONE, nonce=nonce, clock=max(clock() - begin, 1))

    def answer(self, got, call, at):
        """Where the outputs of a call lie; for the judge to read. Returns what must live until then."""
        if isinstance(got, torch.Tensor):
            got = (got,)
        elif self.baseline:  # looked for where a candidate would have failed: to the clock both are alike
            got = self.leaves(got)
        if not isinstance(got, (tuple, list)):
            self.describe(at, NO_TENSOR, type(got).__name__)
            return got
        if len(got) != len(self.outputs):
            self.describe(at, COUNT, str(len(got)))
            return got
        return [self.one(t, call, i, at + i) for i, t in enumerate(got)]

    def one(self, t, call, output, at):
        if not isinstance(t, torch.Tensor):
            self.describe(at, NO_TENSOR, type(t).__name__)
            return t
        if type(t) is not torch.Tensor and type(t) is not torch.nn.Parameter:
            self.describe(at, UNREADABLE, f"a {type(t).__name__}, which is no plain tensor")
            return t
        if t.device.type != self.device_type:
            self.describe(at, ELSEWHERE, str(t.device))
            return t
        if t.layout is not torch.strided or t.is_conj() or t.is_neg():
            self.describe(at, UNREADABLE, f"a tensor of layout {t.layout}" if t.layout is not torch.strided else "a lazy view")
            return t
        if t.dim() > 8 or t.dtype not in self.numbers:
            self.describe(at, 0, str(t.dtype).replace("torch.", "") if t.dtype not in self.numbers else f"rank {t.dim()}")
            return t
        if self.copies:
            self.copy(t, call, output)
        pad = [0] * (8 - t.dim())
        address = self.input_at(t.data_ptr()) if self.copies else t.data_ptr()
        OUTPUT.pack_into(self.report, TEXT_BYTES + at * OUTPUT.size, address, self.numbers[t.dtype], t.dim(), *t.shape, *pad,
                         *t.stride(), *pad)
        return t

    def input_at(self, address):
        """1 + the input in whose memory an address lies; 0: in none."""
        i = bisect.bisect_right(self.starts, (address, len(self.maps)))
        start, index = self.starts[i - 1] if i else (0, 0)
        buffer = index % self.buffers
        return 1 + buffer if i and address < start + self.maps[index][1] and buffer < len(self.spec["inputs"]) else 0

    def copy(self, t, call, output):
        """Where the judge may not read this process's memory."""
        o = self.outputs[output]
        if list(t.shape) == o["shape"] and t.dtype == getattr(torch, o["dtype"]):
            self.room[call][output].copy_(t)

    def describe(self, at, number, text):
        OUTPUT.pack_into(self.report, TEXT_BYTES + at * OUTPUT.size, 0, number, 0, *([0] * 16))
        self.write(text)

    # -- what went wrong --

    def write(self, text):
        data = text.encode("utf-8", "replace")[: TEXT_BYTES - 1]
        self.report[: len(data) + 1] = data + b"\0"

    def tell(self, kind, text, nonce):
        self.write(text)
        reply(self.control, RAISED, number=kind, nonce=nonce)

    def raised(self, e, nonce):
        frame, line, depth, tb = None, 0, 0, e.__traceback__
        while tb:
            if tb.tb_frame.f_code.co_filename == self.spec["file"]:
                frame, line = tb.tb_frame, tb.tb_lineno
            depth, tb = depth + 1, tb.tb_next
        text = f"{type(e).__name__}: {e}".strip()
        where = ""
        if isinstance(e, SyntaxError) and e.filename == self.spec["file"]:
            where, text = f" ({self.spec['file']}:{e.lineno})", f"{type(e).__name__}: {e.msg}"
        elif frame:
            source = linecache.getline(self.spec["file"], line).strip()
            where = f" ({self.spec['file']}:{line}: {source[:120]})"
        if hasattr(e, "words"):  # the compiler's, about a kernel
            line = e.line or line
            source = linecache.getline(self.spec["file"], line).strip()
            where, text = f" ({self.spec['file']}:{line}: {source[:120]})" if line else "", e.words
        elif lacking := self.lacking(e):
            text = lacking
        elif isinstance(e, ModuleNotFoundError) and e.name:
            text = f"it imports '{e.name}', which this Python does not have"
        kind = self.kind(e, frame)
        if not self.cuda and WANTS_GPU.search(text):
            text = f"it wants a GPU, and there is none where it is judged: {text}"
        if kind == FORBIDDEN:
            text = f"it asked the system for what a kernel never needs: {text}"
        self.tell(kind, text[:600] + where, nonce)

    @staticmethod
    def lacking(e):
        """A launch that does not give a kernel's parameters their values: Triton names a function of its own."""
        tb, kernel = e.__traceback__, None
        while tb:
            own = tb.tb_frame.f_locals.get("self")
            kernel = own if type(own).__name__ == "JITFunction" else kernel
            tb = tb.tb_next
        if not isinstance(e, TypeError) or not kernel or "dynamic_func()" not in str(e):
            return None
        constants = [p.name for p in kernel.params if p.is_constexpr and f"'{p.name}'" in str(e)]
        if "missing" in str(e) and constants:
            return f"constexpr '{constants[0]}' of '{kernel.__name__}' has no value: the launch must give it ({constants[0]}=...)"
        return str(e).replace("dynamic_func()", f"the launch of '{kernel.__name__}'")

    def kind(self, e, frame):
        if hasattr(e, "words"):
            return OF_KERNELS.get(e.kind, TYPE)
        if type(e).__name__ == "OutOfResources":
            return LAUNCH_RESOURCES
        if isinstance(e, AssertionError) and "num_warps must be" in str(e):
            return PLAN
        if self.lacking(e):
            return PLAN if "constexpr" in self.lacking(e) else TYPE
        if isinstance(e, MemoryError) or "can't allocate memory" in str(e) or "out of memory" in str(e):
            return MEMORY
        if "illegal memory access" in str(e) or "misaligned address" in str(e):
            return ILLEGAL
        if isinstance(e, PermissionError) or "Permission denied" in str(e):
            return FORBIDDEN
        if isinstance(e, (SystemExit, KeyboardInterrupt)):
            return EXITED
        if self.loading and isinstance(e, SyntaxError):
            return SYNTAX
        if isinstance(e, ModuleNotFoundError) or self.loading and isinstance(e, ImportError):
            return INCLUDE
        if self.loading and isinstance(e, NameError):
            return UNDEFINED
        if self.loading or (isinstance(e, TypeError) and frame is None):
            return SETUP
        return CRASH


def clock():
    """By name, so that a patched one shows; the judge's is the one that counts."""
    return time.perf_counter_ns()


def unavailable(*args, **kwargs):
    raise RuntimeError("the operations of a call cannot be hidden from the judge")


class Watched:
    """The operations of PyTorch itself that compute something, by name; moving data about is none. Of every thread, by PyTorch's profiler; where
    that does not start, of this one, by its dispatcher."""

    def __enter__(self):
        self.names, self.all_the_time = set(), True
        self.switches = [(owner, name, getattr(owner, name)) for owner in (torch._C._autograd, torch.autograd)
                         for name in ("_enable_record_function", "_disable_profiler") if hasattr(owner, name)]
        for owner, name, _ in self.switches:
            setattr(owner, name, unavailable)
        self.profile = self.mode = None
        try:
            self.profile = profile(experimental_config=torch._C._profiler._ExperimentalConfig(profile_all_threads=True))
            self.profile.__enter__()
            self.mark()
        except (RuntimeError, TypeError):  # a box without what it reads of the system; a PyTorch that looks at one thread only
            self.profile = None
            self.mode = self.dispatching()
            self.mode.__enter__()
        return self

    def dispatching(self):
        from torch.utils._python_dispatch import TorchDispatchMode

        seen = self.see

        class Mode(TorchDispatchMode):
            @classmethod
            def _should_skip_dynamo(cls):  # or all of PyTorch's compiler is imported, to be kept away from this
                return False

            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                seen(func._schema.name)
                return func(*args, **(kwargs or {}))

        return Mode()

    def see(self, name):
        space, _, name = name.partition("::")
        if space == "aten" and name not in MOVING:
            self.names.add(name)

    def mark(self):
        with record_function(MARK):
            pass

    def __exit__(self, *what):
        for owner, name, was in self.switches:
            setattr(owner, name, was)
        if self.mode:
            self.mode.__exit__(*what)
            return
        try:
            self.mark()
            self.profile.__exit__(*what)
            events = [event.name() for event in self.profile.kineto_results.events()]
        except RuntimeError:  # it has been ended
            events = []
        self.all_the_time = events.count(MARK) == 2
        for name in events:
            self.see(name)


def attribute(owner, path):
    for part in path.split(".") if path else ():
        owner = getattr(owner, part, None)
    return owner


def placed(x, tensors):
    """Arguments with the tensors of a call in their places."""
    if isinstance(x, tuple) and len(x) == 2 and x[0] == "\0input":
        return tensors[x[1]]
    if type(x) in (list, tuple):
        return type(x)(placed(e, tensors) for e in x)
    if type(x) is dict:
        return {k: placed(v, tensors) for k, v in x.items()}
    return x


def as_it_is(input, *args, **kwargs):
    return input


def quiet(model):
    """Dropout is left out, as it is of the reference: nobody else can draw the same numbers."""
    for m in model.modules():
        if isinstance(m, torch.nn.modules.dropout._DropoutNd):
            m.p = 0.0
        elif isinstance(getattr(m, "dropout", None), float) and type(m).__module__.startswith("torch.nn"):
            m.dropout = 0.0
    for name in ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout"):
        if hasattr(torch.nn.functional, name):
            setattr(torch.nn.functional, name, as_it_is)


INLINE_PARAMETERS = ("name", "cpp_sources", "cuda_sources", "sycl_sources", "functions", "extra_cflags", "extra_cuda_cflags",
                     "extra_sycl_cflags", "extra_ldflags", "extra_include_paths", "build_directory", "verbose", "with_cuda")


def texts(value):
    return [] if value is None else [value] if isinstance(value, str) else list(value)


def key_of(cpp_sources=None, cuda_sources=None, functions=None, extra_cflags=None, extra_cuda_cflags=None, extra_ldflags=None, **ignored):
    """As in python/module_build.py."""
    named = functions if isinstance(functions, dict) else texts(functions)
    parts = [texts(cpp_sources), texts(cuda_sources), named, texts(extra_cflags), texts(extra_cuda_cflags), texts(extra_ldflags)]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def by_triton(frame):
    """Whether Triton's own code asks, as far as names say: refused it is anyway."""
    while frame:
        if str(frame.f_globals.get("__name__")).startswith(("triton.runtime", "triton.compiler", "triton.backends", "triton.knobs")):
            return True
        frame = frame.f_back
    return False


def no_compile(*args, **kwargs):
    raise RuntimeError("torch.compile starts a compiler when the module is called, which a candidate may not; call compiled code "
                       "instead (torch.utils.cpp_extension.load_inline, triton)")


if __name__ == "__main__":
    zygote()
