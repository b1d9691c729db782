"""Docstrings begin with the thing that they describe, and private functions have short ones."""

import ast
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
import re
from typing import Final

from .project import Project

_FOLDERS: Final = ("simulator", "demo")
_RELATIVE: Final = re.compile(r"(What|Whether)\b")
_SENTENCE_END: Final = re.compile(r"[.!?](?=\s|$)")
_MAX_SENTENCES: Final = 2

type _Described = tuple[int, ast.AST, str]


def check(project: Project) -> Iterator[str]:
    """Yield the faults of all docstrings."""
    for folder in (project.integration, *(project.root / name for name in _FOLDERS)):
        for path in sorted(folder.rglob("*.py")):
            for line, node, text in _described(path):
                if fault := _fault(node, text):
                    yield project.fault(path, f"{line}: {fault}")


def _described(path: Path) -> Iterator[_Described]:
    """Yield line, object and text of each docstring, also of attributes."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if text := ast.get_docstring(node):
                yield getattr(node, "lineno", 1), node, text
            for before, after in pairwise(node.body):
                match after:
                    case ast.Expr(value=ast.Constant(value=str(text))):
                        yield after.lineno, before, text


def _fault(node: ast.AST, text: str) -> str | None:
    if (begin := _RELATIVE.match(text)) and not (begin[1] == "Whether" and _is_boolean(node)):
        return f'a docstring begins with "{begin[1]}"'
    if (
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("_")
        and not node.name.startswith("__")
        and len(_SENTENCE_END.findall(text)) > _MAX_SENTENCES
    ):
        return f"the docstring of a private function has more than {_MAX_SENTENCES} sentences"
    return None


def _is_boolean(node: ast.AST) -> bool:
    """Whether an object is, or returns, a boolean."""
    match node:
        case ast.FunctionDef(returns=annotation) | ast.AsyncFunctionDef(returns=annotation):
            return annotation is not None and "bool" in ast.unparse(annotation)
        case ast.AnnAssign(annotation=annotation):
            return "bool" in ast.unparse(annotation)
        case ast.Assign(value=ast.Constant(value=bool())):
            return True
    return False
