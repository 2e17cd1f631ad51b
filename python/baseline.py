"""What a user runs instead of a kernel: the PyTorch that a task has as its reference, as it stands or compiled, in f32 as PyTorch has it.

module_player.py plays it like a candidate: the same slots, the same clock. It is the user's own code and so in no box: it may start compilers
and keep what they make. It never shares a process with a candidate."""
import ast
import ctypes
import importlib.util
import os
import subprocess
import sys
import time
import types

import torch

CACHE_BYTES = 64 << 20  # where the system does not tell how large its last cache is
MOST_COPIED = {"cpu": 1 << 30, "cuda": 16 << 30}  # bytes of arguments
MEASURED = 8            # calls in a row, which tell whether the device waits for this process; fewer where that takes longer than
MEASURED_NS = 100e6
BOUND = 0.5             # of the device's time: who launches for longer is overtaken at the next hiccup, and then the host is what is timed


def line(told):
    """A function of the task's inputs, whose text is the reference's own; parameters and dims are numbers in it."""
    text = told["text"].strip()
    tree = ast.parse(text, "reference")
    if len(tree.body) == 1 and isinstance(tree.body[0], ast.Expr):
        body = "    return (\n%s\n    )\n" % ast.unparse(tree)
    else:
        body = "".join("    %s\n" % row for row in ast.unparse(tree).splitlines()) + "    return (%s,)\n" % ", ".join(told["outputs"])
    space = {"torch": torch, "F": torch.nn.functional, "nn": torch.nn, **told["dims"], **told["params"]}
    exec("import math\n", space)
    exec(compile("def forward(%s):\n%s" % (", ".join(told["inputs"]), body), "reference", "exec"), space)
    return lambda: space["forward"]


def file(told):
    """The user's file, as the reference loads it."""
    path = told["path"]
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec = importlib.util.spec_from_file_location("kwright_users_module", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    if told["form"] == "problem":
        return module.Model
    found = module
    for part in told["callable"].split("."):
        found = getattr(found, part)
    if isinstance(found, type):
        return found
    return lambda: found


def in_channels_last(t):
    layout = {4: torch.channels_last, 5: torch.channels_last_3d}.get(t.dim() if isinstance(t, torch.Tensor) else 0)
    return t.contiguous(memory_format=layout) if layout else t


def without_memory(e):
    """Without copies there may be enough of it; what else was raised is raised again."""
    if not isinstance(e, MemoryError) and "out of memory" not in str(e) and "can't allocate memory" not in str(e):
        raise e


def leaves(result):
    """The tensors of an answer, in order, as the reference gives them; numbers are some where there is nothing else."""
    found = []

    def walk(x):
        if isinstance(x, dict):
            for v in x.values():
                walk(v)
        elif isinstance(x, (list, tuple)):
            for v in x:
                walk(v)
        elif hasattr(x, "to_tuple"):
            walk(x.to_tuple())
        elif x is not None:
            found.append(x)

    walk(result)
    return [t for t in found if isinstance(t, torch.Tensor)] or [torch.tensor(v) for v in found]


def run_in_a_copy(argv, **_):
    """subprocess.check_call for [python, "-c", text], in a copy of this process, which has imported torch already."""
    pid = os.fork()
    if not pid:
        try:
            os.dup2(os.open(os.devnull, os.O_RDWR), 2)
            exec(argv[2], {})
            os._exit(0)
        finally:
            os._exit(1)
    status = os.waitpid(pid, 0)[1]
    if status:
        raise subprocess.CalledProcessError(status, argv)


def hasten_compile():
    """torch.compile asks up to 14 times whether what it compiled for a processor's units can be loaded, each time in a new Python that
    imports torch. A copy of this one answers the same in milliseconds. Where PyTorch does that otherwise, nothing changes."""
    try:
        import torch._inductor.cpu_vec_isa as isa
        if isa.subprocess is subprocess:
            isa.subprocess = types.SimpleNamespace(check_call=run_in_a_copy, DEVNULL=subprocess.DEVNULL)
    except (ImportError, AttributeError):
        pass


class Graphs:
    """One CUDA graph after the other, in the same memory."""

    def __init__(self):
        self.stream, self.pool = torch.cuda.Stream(), torch.cuda.graph_pool_handle()
        self.driver = ctypes.CDLL("libcuda.so.1")
        self.graph, self.results = None, []
        self.keeper, _ = self.captured(lambda: torch.zeros(1, device="cuda"), [((), {})])  # memory of no graph is given back

    def captured(self, function, calls):
        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        with torch.cuda.stream(self.stream):
            graph.capture_begin(pool=self.pool, capture_error_mode="thread_local")
            try:
                results = [function(*args, **kwargs) for args, kwargs in calls]
            except BaseException:
                self.give_up(graph)
                raise
            try:
                graph.capture_end()
            except BaseException:
                self.close_pool()
                raise
        return graph, results

    def give_up(self, graph):
        """What was wrong is told by the first exception."""
        try:
            graph.capture_end()
        except Exception:
            self.close_pool()

    def close_pool(self):
        """PyTorch itself leaves it open after a capture that failed."""
        end = getattr(torch._C, "_cuda_endAllocateToPool", None)
        if end:
            end(torch.cuda.current_device(), self.pool)

    def capture(self, function, calls):
        self.forget()
        self.graph, self.results = self.captured(function, calls)
        # Or the first launch would bring it to the device while the clock runs.
        self.driver.cuGraphUpload(ctypes.c_void_p(self.graph.raw_cuda_graph_exec()), ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))
        torch.cuda.synchronize()

    def replay(self):
        self.graph.replay()
        return self.results

    def forget(self):
        if self.graph:
            self.graph.reset()
        self.graph, self.results = None, []


class Baseline:
    def __init__(self, told, device):
        self.told, self.device = told, device
        self.model = self.played = None  # as it was made; as it is called
        self.own = []                    # weights, with the inputs that they stand for, and their own memory
        self.graphs = None               # where batches are graphs: what makes them
        self.changed = None              # numbers of the arguments that a call changes in place; None: not looked at yet
        if told["folder"]:
            os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", os.path.join(told["folder"], "inductor"))
            os.environ.setdefault("TRITON_CACHE_DIR", os.path.join(told["folder"], "triton"))
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = told["tf32"]

    def fits(self, told):
        """Whether it serves for another case too; in a line, dims are numbers."""
        return self.told["form"] != "line" or self.told["dims"] == told["dims"]

    def made(self):
        return line(self.told) if self.told["form"] == "line" else file(self.told)

    def settle(self, model, weights):
        """From here on it is called as `played`. weights: paths and inputs of what it holds."""
        self.model = self.played = model
        if self.told["layout"] == "channels-last":
            if isinstance(model, torch.nn.Module):
                for p in [*model.parameters(), *model.buffers()]:
                    p.data = in_channels_last(p.data)
        elif isinstance(model, torch.nn.Module) and self.device == "cpu":
            named = dict(model.named_parameters(remove_duplicate=False))
            self.own = [(named[path], name, named[path].data) for path, name in weights.items() if path in named]
        if self.told["compile"]:
            hasten_compile()
            # What was compiled for another case counts: after eight of them PyTorch would go on uncompiled, and say so to nobody.
            torch._dynamo.reset()
            mode = {"default": None, "max-autotune": "max-autotune-no-cudagraphs"}[self.told["compile"]]
            self.played = torch.compile(model, mode=mode, dynamic=False)  # for the shapes of each case, like a kernel

    def look_for_changes(self, call):
        """Which arguments a call changes in place: the judge's cannot be written to. By a call on copies, whose versions tell; inputs so
        large that copies of them take long, or that there is no memory for twice, are not looked at."""
        leaves, shape = torch.utils._pytree.tree_flatten(call)
        tensors = [x for x in leaves if isinstance(x, torch.Tensor)]
        self.changed = []
        if sum(t.numel() * t.element_size() for t in tensors) > MOST_COPIED[self.device]:
            return
        try:
            copies = [x.clone() if isinstance(x, torch.Tensor) else x for x in leaves]
        except (MemoryError, RuntimeError) as e:
            return without_memory(e)
        before = [x._version if isinstance(x, torch.Tensor) else 0 for x in copies]
        args, kwargs = torch.utils._pytree.tree_unflatten(copies, shape)
        try:
            self.model(*args, **kwargs)
        except (MemoryError, RuntimeError) as e:
            without_memory(e)
        self.changed = [i for i, x in enumerate(copies) if isinstance(x, torch.Tensor) and x._version > before[i]]

    def with_copies(self, call):
        leaves, shape = torch.utils._pytree.tree_flatten(call)
        return torch.utils._pytree.tree_unflatten([x.clone() if i in self.changed else x for i, x in enumerate(leaves)], shape)

    def compile(self, args, kwargs):
        """Its first calls, in which everything is made that it makes once."""
        for _ in range(2):
            self.played(*args, **kwargs)
        if self.device == "cuda":
            torch.cuda.synchronize()

    def choose(self, call):
        """On a GPU: how its batches are played, in words where that needs some. Where Python takes longer to launch than the device to
        compute, a batch is a CUDA graph, which is launched at once: the device's time is what a kernel is set against, and not how fast a
        host is."""
        self.graphs = None
        if not self.waits(call):
            return ""
        if not self.told["graphs"]:
            return "bound by its launches: the device waits for Python"
        try:
            self.graphs = Graphs()
            self.capture([call, call])
            self.replay()
            torch.cuda.synchronize()
        except Exception as e:
            self.graphs = None
            torch.cuda.synchronize()
            return f"bound by its launches: the device waits for Python, and no CUDA graph can be made of it ({type(e).__name__}: " \
                   f"{str(e).splitlines()[0][:100] if str(e) else ''})"
        finally:
            self.forget()
        torch.cuda.empty_cache()  # what the calls before took, where graphs have memory of their own
        return "as a CUDA graph: called one by one, the device would wait for Python"

    def waits(self, call):
        """Whether the device does, at the worst of three times. Answers are dropped: those of large cases may not be there all at once."""
        worst, took = self.launching(call, 1)
        count = max(1, min(MEASURED, int(MEASURED_NS / took)))
        if count > 1:
            worst = max(self.launching(call, count)[0] for _ in range(3))
        return worst >= BOUND

    def launching(self, call, count):
        """What so many calls take to launch, as a share of what they take on the device; and all that they take, in ns."""
        args, kwargs = call
        first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda.synchronize()
        begin = time.perf_counter_ns()
        first.record()
        for _ in range(count):
            self.played(*args, **kwargs)
        launched = time.perf_counter_ns() - begin
        last.record()
        torch.cuda.synchronize()
        return launched / max(first.elapsed_time(last) * 1e6, 1), max(time.perf_counter_ns() - begin, 1)

    def capture(self, calls):
        """Before the clock runs: these calls as one graph."""
        self.graphs.capture(self.played, calls)

    def replay(self):
        """The answers of the calls that were captured last."""
        return self.graphs.replay()

    def forget(self):
        """The answers of the last batch."""
        if self.graphs:
            self.graphs.forget()

    def stage(self, calls, weights):
        """Before a batch, which shall find no cache warm. On a processor weights are read where the judge has dropped them from the caches,
        but for a candidate that is a module: its weights are its own, and what is set against it has them alike."""
        for p, name, _ in self.own if self.told["cold_weights"] else ():
            p.data = weights[name]
        if self.told["layout"] != "channels-last" and not self.changed:
            return calls
        if self.changed:
            calls = [self.with_copies(call) for call in calls]
        if self.told["layout"] == "channels-last":
            calls = [tuple(torch.utils._pytree.tree_map(in_channels_last, x) for x in call) for call in calls]
        self.empty_caches()
        return calls

    def empty_caches(self):
        try:
            size = 2 * max(os.sysconf("SC_LEVEL3_CACHE_SIZE"), os.sysconf("SC_LEVEL2_CACHE_SIZE")) or CACHE_BYTES
        except (ValueError, OSError):
            size = CACHE_BYTES
        if self.device == "cuda":
            size = 4 * getattr(torch.cuda.get_device_properties(0), "L2_cache_size", CACHE_BYTES)
            if not hasattr(self, "room"):
                self.room = torch.empty(size, dtype=torch.uint8, device="cuda")
            self.room.zero_()
            torch.cuda.synchronize()
        else:
            torch.zeros(size, dtype=torch.uint8).add_(1)

    def leave(self):
        """The memory of a session goes away."""
        self.graphs = None
        for p, _, data in self.own:
            p.data = data
