"""From the kernel's stamps to the monotonic clock."""

import socket
import struct
import time

import pytest

from pipeline.drive.clock import ANCILLARY_BYTES, SO_TIMESTAMPNS, Stamps, ask_for_stamps, offset_ns, stamping


def stamp(seconds: int, nanoseconds: int) -> list[tuple[int, int, bytes]]:
    return [(socket.SOL_SOCKET, SO_TIMESTAMPNS, struct.pack("@qq", seconds, nanoseconds))]


def test_a_stamp_is_moved_by_the_offset_between_the_clocks() -> None:
    stamps = Stamps(start_offset_ns=9_000_000_000, end_offset_ns=9_000_000_050)
    assert stamps.times([(7, stamp(10, 5), b"x")]) == [(1_000_000_005, b"x")]


def test_a_read_without_a_stamp_has_the_time_of_waking_up() -> None:
    assert Stamps(0, 0).times([(7, [], b"x")]) == [(7, b"x")]
    assert Stamps(0, 0).times([(7, [(1, SO_TIMESTAMPNS, b"cut")], b"x")]) == [(7, b"x")]


@pytest.mark.parametrize(("moved_ns", "stepped"), [(0, False), (50_000, False), (-1_000_000, True), (10**9, True)])
def test_a_wall_clock_that_was_set_inside_the_window_is_not_used(moved_ns: int, stepped: bool) -> None:
    stamps = Stamps(start_offset_ns=0, end_offset_ns=moved_ns)
    assert stamps.stepped is stepped
    assert stamps.times([(7, stamp(1, 0), b"x")]) == [(7 if stepped else 1_000_000_000, b"x")]


def test_the_offset_is_the_difference_of_the_clocks() -> None:
    before = time.time_ns() - time.perf_counter_ns()
    assert abs(offset_ns() - before) < 5_000_000
    assert not Stamps(offset_ns(), offset_ns()).stepped


@pytest.mark.loopback
def test_what_arrives_is_stamped_by_this_kernel() -> None:
    with stamping(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        ask_for_stamps(receiver)
        receiver.bind(("127.0.0.1", 0))
        before = time.perf_counter_ns()
        receiver.sendto(b"x", receiver.getsockname())
        after = time.perf_counter_ns()
        _, ancillary, _, _ = receiver.recvmsg(10, ANCILLARY_BYTES)
    offset = offset_ns()
    ((arrived, _),) = Stamps(offset, offset).times([(0, ancillary, b"x")])
    assert before - 50_000 <= arrived <= after + 1_000_000
