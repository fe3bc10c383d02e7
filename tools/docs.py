"""Write what of docs/ is made from the code: `python -m tools.docs` (or `make docs`). A test holds it current."""

import re
from pathlib import Path

from pipeline.settings import REPOSITORY
from tools import import_picture, metrics_page, warehouse_page

DOCS = REPOSITORY / "docs"
BEGIN, END = "<!-- made by `make docs` from the imports -->\n", "<!-- end -->\n"


def main() -> None:
    """Write the pages."""
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")


def pages() -> dict[Path, str]:
    """Return each page, or page with a part, that is made from the code, as it has to be."""
    architecture = DOCS / "architecture.md"
    drawn = with_part(architecture.read_text(encoding="utf-8"), import_picture.render())
    return {
        architecture: drawn,
        DOCS / "metrics.md": metrics_page.render(),
        DOCS / "warehouse.md": warehouse_page.render(),
    }


def with_part(page: str, part: str) -> str:
    """Return `page` with `part` between its two marks. Raises ValueError when it does not have them once."""
    marked = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    if len(marked.findall(page)) != 1:
        message = f"the page needs one place between {BEGIN!r} and {END!r}"
        raise ValueError(message)
    return marked.sub(lambda _: f"{BEGIN}{part}{END}", page)


if __name__ == "__main__":
    main()
