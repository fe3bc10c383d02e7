"""Which partitions are months of ours."""

from datetime import date

import pytest

from pipeline.warehouse.retention import until_of


@pytest.mark.parametrize(
    ("name", "bound", "until"),
    [
        ("request_2026_01", "FOR VALUES FROM ('2026-01-01') TO ('2026-02-01')", date(2026, 2, 1)),
        ("request_2026_12", "FOR VALUES FROM ('2026-12-01') TO ('2027-01-01')", date(2027, 1, 1)),
        ("request_default", "DEFAULT", None),
        ("request_of_someone", "FOR VALUES FROM ('2026-01-01') TO ('2026-02-01')", None),
    ],
)
def test_a_partition_is_past_its_time_after_its_last_day(name: str, bound: str, until: date | None) -> None:
    assert until_of(name, bound) == until
