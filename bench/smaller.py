"""Problems in KernelBench's form with smaller sizes: the constants at the top of the file, as far as the model still works."""
import ast


class Smaller(ast.NodeTransformer):
    """Halves the whole numbers over 16 at the top of a file `times` times; batches become 2 where `few`."""

    def __init__(self, times, few):
        self.times, self.few, self.batch = times, few, False

    def visit_Module(self, node):
        for n in node.body:
            if isinstance(n, ast.Assign):
                names = " ".join(ast.unparse(t) for t in n.targets).lower()
                self.batch = "batch" in names and "features" not in names
                n.value = self.visit(n.value)
        return node

    def visit_Constant(self, node):
        v = node.value
        if type(v) is not int or v < 3:
            return node
        if self.batch and self.few:
            return ast.copy_location(ast.Constant(2), node)
        for _ in range(self.times):
            v = v // 2 if v > 16 else v
        return ast.copy_location(ast.Constant(v), node)


def smaller(source, times, few):
    return ast.unparse(ast.fix_missing_locations(Smaller(times, few).visit(ast.parse(source))))


def elements(d):
    """Of all tensors of a description."""
    total = 0
    for t in d["inputs"] + d["parameters"] + d["outputs"]:
        n = 1
        for s in t.get("shape", []):
            n *= s
        total += n
    return total
