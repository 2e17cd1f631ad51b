"""Whether what a problem's file says follows from its text alone, and would be found again as long as PyTorch is the same one."""
import ast
import os

MODULES = frozenset("""__future__ abc collections copy dataclasses enum functools itertools math numbers numpy operator torch typing
    typing_extensions warnings""".split())
# Ways to what is not in the text: files, the environment, the machine, code that is made.
WAYS = frozenset("""__builtins__ __file__ __import__ __loader__ __path__ __spec__ __subclasses__ __version__ accelerator breakpoint compile cpp_extension
    cuda distributed environ eval exec from_file fromfile genfromtxt getenv getfile getsource get_num_interop_threads get_num_threads globals hub
    import_module input is_available library load load_library loadtxt locals memmap mps multiprocessing ops os open serialization sys version
    xpu""".split())


def lasting(path):
    with open(path, encoding="utf-8-sig") as f:
        tree = ast.parse(f.read())
    folder = os.path.dirname(os.path.abspath(path))
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            whole = [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            tops = {name.split(".")[0] for name in whole}
            parts = {part for name in whole + [a.name for a in node.names] for part in name.split(".")}
            if not tops <= MODULES or parts & WAYS or getattr(node, "level", 0) or "*" in parts:
                return False
            if any(os.path.exists(os.path.join(folder, top + end)) for top in tops for end in ("", ".py", ".so")):
                return False
        name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
        if name in WAYS:
            return False
    return True
