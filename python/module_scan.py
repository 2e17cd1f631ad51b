"""What a module-form candidate is, without running it: JSON on stdout, its source on stdin, its name as the argument."""
import ast
import json
import sys


def class_of(tree):
    """Definitions of ModelNew at the top of the file, and where it is given another value."""
    found = []
    for node in tree.body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name == "ModelNew":
            found.append(node.lineno)
        elif isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "ModelNew" for t in node.targets):
            found.append(node.lineno)
    return found


def calls(tree, names):
    """Whether one of these functions is named anywhere, by itself or in a module."""
    return any((isinstance(n, ast.Attribute) and n.attr in names) or (isinstance(n, ast.Name) and n.id in names)
               or (isinstance(n, ast.alias) and n.name in names) for n in ast.walk(tree))


def scan(text, name):
    try:
        tree = ast.parse(text, name)
    except SyntaxError as e:
        return {"error": {"line": e.lineno or 0, "column": e.offset or 0, "message": e.msg}}
    except (ValueError, RecursionError, MemoryError) as e:
        return {"error": {"line": 0, "column": 0, "message": f"{type(e).__name__}: {e}"}}
    return {"classes": class_of(tree), "inline": calls(tree, {"load_inline"})}


if __name__ == "__main__":
    print(json.dumps(scan(sys.stdin.buffer.read().decode("utf-8"), sys.argv[1])))
