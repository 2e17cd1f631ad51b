"""What a user runs instead of a kernel: the PyTorch that a task has as its reference, as it stands or compiled, in f32 as PyTorch has it.

module_player.py plays it like a candidate: the same slots, the same clock. It is the user's own code and so in no box: it may start compilers
and keep what they make. It never shares a process with a candidate."""
import ast
import importlib.util
import os
import subprocess
import sys
import types

import torch

CACHE_BYTES = 64 << 20  # where the system does not tell how large its last cache is


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


class Baseline:
    def __init__(self, told, device):
        self.told, self.device = told, device
        self.model = self.played = None  # as it was made; as it is called
        self.own = []                    # weights, with the inputs that they stand for, and their own memory
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
            mode = {"default": None, "max-autotune": "max-autotune-no-cudagraphs"}[self.told["compile"]]
            self.played = torch.compile(model, mode=mode, dynamic=False)  # for the shapes of each case, like a kernel

    def compile(self, args, kwargs):
        """Its first calls, in which everything is made that it makes once."""
        for _ in range(2):
            self.played(*args, **kwargs)
        if self.device == "cuda":
            torch.cuda.synchronize()

    def stage(self, calls, weights):
        """Before a batch, which shall find no cache warm. On a processor weights are read where the judge has dropped them from the caches,
        but for a candidate that is a module: its weights are its own, and what is set against it has them alike."""
        for p, name, _ in self.own if self.told["cold_weights"] else ():
            p.data = weights[name]
        if self.told["layout"] != "channels-last":
            return calls
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
        for p, _, data in self.own:
            p.data = data
