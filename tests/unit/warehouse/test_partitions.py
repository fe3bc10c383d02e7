"""Which months are made ahead."""

from datetime import date

from pipeline.warehouse.partitions import months_from


def test_months_go_on_over_the_end_of_a_year() -> None:
    assert months_from(date(2026, 11, 30)) == [date(2026, 11, 1), date(2026, 12, 1), date(2027, 1, 1), date(2027, 2, 1)]
