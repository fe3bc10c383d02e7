"""The picture of docs/architecture.md: which room imports which, read from the code's imports, as Mermaid."""

from collections import defaultdict

import grimp

SKINS = ("dags", "dashboard")
PRODUCT = "pipeline"
Edges = dict[str, set[str]]


def render() -> str:
    """Return the picture as a Mermaid block."""
    edges = essential(room_imports())
    arrows = [f"    {importer} --> {imported}" for importer in sorted(edges) for imported in sorted(edges[importer])]
    return "\n".join(["```mermaid", "flowchart LR", *arrows, "```"]) + "\n"


def room_imports() -> Edges:
    """Return, for each room and each skin, the others that it imports, also from inside its functions."""
    graph = grimp.build_graph(PRODUCT, *SKINS, cache_dir=None)
    edges: Edges = defaultdict(set)
    for module in graph.modules:
        importer = _room(module)
        if importer is None:
            continue
        found = {_room(imported) for imported in graph.find_modules_directly_imported_by(module)}
        edges[importer] |= {imported for imported in found if imported not in (importer, None)}
    return dict(edges)


def essential(edges: Edges) -> Edges:
    """Return `edges` without those that a longer way says already: the transitive reduction."""
    return {
        importer: {
            imported
            for imported in direct
            if not any(imported in _reached(edges, other) for other in direct if other != imported)
        }
        for importer, direct in edges.items()
    }


def _reached(edges: Edges, start: str) -> set[str]:
    found: set[str] = set()
    waiting = [start]
    while waiting:
        for imported in edges.get(waiting.pop(), set()) - found:
            found.add(imported)
            waiting.append(imported)
    return found


def _room(module: str) -> str | None:
    """`pipeline.drive.stream` lies in `drive`; a skin is one room; the package's own file is none."""
    top, *rest = module.split(".")
    if top in SKINS:
        return top
    return rest[0] if rest else None
