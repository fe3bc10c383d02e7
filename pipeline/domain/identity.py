"""Ids: short hashes of canonical JSON, so that the same thing has the same id on every machine."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

ID_LENGTH = 12


def canonical_json(value: Mapping[str, Any]) -> str:
    """Return `value` as JSON with sorted keys and no spaces: the text that is hashed."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def short_hash(value: Mapping[str, Any]) -> str:
    """Return the first 12 hex digits of the SHA-256 of the canonical JSON of `value`."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()[:ID_LENGTH]
