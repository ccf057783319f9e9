"""Members of enums that code names without their enum, which Qt 6 does not accept.

Scope: Python's syntax tree and the classes of the Qt and QGIS at hand: `Qt.AlignLeft` is found, since it is a
`Qt.AlignmentFlag`, and `Qt.AlignmentFlag.AlignLeft` is not.
"""

import ast
import enum

from qgis.PyQt.QtCore import Qt

_PYQT5_ENUM = type(Qt.AlignmentFlag)


def unscoped(source, names):
    """Return the lines and names of such members in a module.

    Parameters
    ----------
    source : str
        The module's code.
    names : mapping of str to object
        What the module's global names stand for.
    """
    tree = ast.parse(source)
    inside = {}
    for top in tree.body:
        if isinstance(top, ast.ClassDef):
            own = names[top.name]
            visible = {**names, "self": own, "cls": own}
            inside.update((node, visible) for node in ast.walk(top))
    return [
        f"{node.lineno}: {ast.unparse(node)}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and _is_unscoped(node, inside.get(node, names))
    ]


def _is_unscoped(node, names):
    holder = _meaning(node.value, names)
    value = getattr(holder, node.attr, None) if isinstance(holder, type) else None
    is_member = isinstance(value, enum.Enum) or isinstance(type(value), _PYQT5_ENUM)
    return is_member and holder is not type(value)


def _meaning(node, names):
    """Return what a dotted name stands for, or None."""
    if isinstance(node, ast.Name):
        return names.get(node.id)
    return getattr(_meaning(node.value, names), node.attr, None) if isinstance(node, ast.Attribute) else None
