"""Triton kernels that a module launches itself, where there is no GPU: Triton's interpreter runs them, and what the module says of a
GPU means this machine's memory. Right or wrong is all that comes of it. Each is compiled as well, as the interpreter takes much that the
compiler refuses.

In the module's player, beside python/triton_interpreter.py and triton_module.py; it lies open to the candidate."""

import contextlib
import inspect
import types

import numpy as np
import torch
from torch.overrides import TorchFunctionMode
from triton.runtime import autotuner, interpreter
from triton.runtime.errors import OutOfResources
from triton.runtime.jit import JITFunction

import kwright_triton_module as module
from kwright_triton_interpreter import guard, in_any_order

SHARED_BYTES = 232448  # that a program may take on what they are compiled for, sm_90a
MOST_PROGRAMS = 1000  # of a launch, as for kernels by themselves: a millisecond each, and more


class Told(Exception):
    """What went wrong, in words of ours. kind: as python/module_player.py has it."""

    def __init__(self, kind, words):
        super().__init__(words)
        self.kind, self.line, self.words = kind, 0, words


class Watch:
    """Of the guard: an access that lies in no tensor of the launch."""

    @staticmethod
    def fault(address, write):
        raise Told("illegal", f"its kernel {'writes to' if write else 'reads from'} address {int(address):#x}, which lies in none of the tensors that "
                              "the launch was given")


def tensors_of(x):
    if isinstance(x, torch.Tensor):
        yield x
    elif isinstance(x, (tuple, list)):
        for e in x:
            yield from tensors_of(e)
    elif hasattr(x, "base") and hasattr(x, "block_shape"):  # a descriptor
        yield from tensors_of(x.base)


def execute(executor, *given, **named):
    """In the place of GridExecutor.__call__, which copies what it is given, and back."""
    function = executor.fn
    names = inspect.getfullargspec(function).args
    named = {k: v for k, v in named.items() if k in names}
    for hook in executor.pre_run_hooks:
        hook(*given, **named)
    bound = inspect.getcallargs(function, *given, **named)
    grid = executor.grid(bound) if callable(executor.grid) else executor.grid
    grid = tuple(int(n) for n in (grid if isinstance(grid, (tuple, list)) else (grid,)))
    grid += (1,) * (3 - len(grid))
    programs = grid[0] * grid[1] * grid[2]
    if programs > MOST_PROGRAMS:
        raise Told("too_much", f"a launch of '{function.__name__}' has {programs} programs; at most {MOST_PROGRAMS} are interpreted")
    storages = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors_of(list(bound.values()))}
    arguments = {name: x if name in executor.constexprs else interpreter._implicit_cvt(x) for name, x in bound.items()}
    guard.use([(address, size, False, False) for address, size in storages.items()], Watch)
    try:
        with np.errstate(all="ignore"):
            in_any_order(function, grid, arguments)
    except interpreter.InterpreterError as e:
        inner = e
        while isinstance(inner, interpreter.InterpreterError) and inner.__cause__ is not None:
            inner = inner.__cause__
        raise inner
    finally:
        guard.use([], None)


compiled = {}


def compiled_too(run):
    def both(function, *args, grid, warmup, **kwargs):
        if function.fn not in compiled:
            told = {k: v for k, v in function.kwargs.items() if k in ("do_not_specialize", "do_not_specialize_on_alignment", "noinline")}
            compiled[function.fn] = JITFunction(function.fn, **told)
        kernel = compiled[function.fn].run(*args, grid=grid, warmup=True, **kwargs)
        if kernel is not None and kernel.metadata.shared > SHARED_BYTES:
            raise OutOfResources(kernel.metadata.shared, SHARED_BYTES, "shared memory")
        return run(function, *args, grid=grid, warmup=warmup, **kwargs)

    return both


def is_cuda(x):
    return x == "cuda" or (isinstance(x, str) and x.startswith("cuda:")) or (isinstance(x, torch.device) and x.type == "cuda")


class OnThisProcessor(TorchFunctionMode):
    """A module that is written for a GPU: its tensors are here, and it may take them for such."""

    def __torch_function__(self, function, kinds, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if is_cuda(kwargs.get("device")):
            kwargs["device"] = "cpu"
        if function is torch.Tensor.cuda:
            return args[0]
        if function == torch.Tensor.is_cuda.__get__:
            return True
        if function is torch.Tensor.to and len(args) > 1 and is_cuda(args[1]):
            args = (args[0], "cpu", *args[2:])
        return function(*args, **kwargs)


def stand_in_for_a_gpu():
    OnThisProcessor().__enter__()
    facts = types.SimpleNamespace(multi_processor_count=132, major=9, minor=0, name="interpreter", total_memory=1 << 37, warp_size=32)
    stream = types.SimpleNamespace(cuda_stream=0, synchronize=lambda: None)
    for name, value in {"synchronize": lambda *a, **k: None, "current_device": lambda: 0, "set_device": lambda *a: None,
                        "device": lambda *a: contextlib.nullcontext(), "get_device_properties": lambda *a: facts,
                        "get_device_capability": lambda *a: (9, 0), "current_stream": lambda *a: stream}.items():
        setattr(torch.cuda, name, value)


def install(ask, sm):
    module.install(ask, sm)
    interpreter.GridExecutor.__call__ = execute
    interpreter.InterpretedFunction.run = compiled_too(interpreter.InterpretedFunction.run)
    autotuner.Autotuner._bench = lambda self, *args, **kwargs: [1.0, 1.0, 1.0]  # the first of the configs: none is faster here
    stand_in_for_a_gpu()
