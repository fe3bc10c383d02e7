"""Documents that carry a version: a newer one is refused, an older one is brought up to date step by step."""

from collections.abc import Callable, Mapping
from typing import Any

Document = dict[str, Any]
Upgrade = Callable[[Document], Document]
Upgrades = Mapping[int, Upgrade]  # the version it starts from -> one version further


class VersionRefused(ValueError):
    """A document of a version that this release cannot read; the text is a sentence for a person."""


def brought_up_to(
    document: Document, *, current: int, upgrades: Upgrades, key: str = "layout_version", name: str
) -> Document:
    """Return `document` at version `current`; `key` holds its version, `name` stands in messages.

    A document without a version is returned as it is: whoever reads its fields says what is wrong with it. Raises
    VersionRefused for a version newer than `current`, or one that no step leads on from.
    """
    version = document.get(key)
    if not isinstance(version, int) or isinstance(version, bool):
        return document
    if version > current:
        message = f"{name} is of version {version}, this release reads up to {current}: update Specwatch."
        raise VersionRefused(message)
    while version < current:
        if version not in upgrades:
            message = f"{name} is of version {version}, which this release ({current}) cannot bring up to date."
            raise VersionRefused(message)
        document = upgrades[version](document) | {key: version + 1}
        version += 1
    return document
