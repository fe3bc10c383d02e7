"""Telemetry of a window: counters read at its two ends, samples inside it, and what has no GPU."""

import pynvml
import pytest

from pipeline.domain.telemetry import TelemetrySample
from pipeline.measure import telemetry
from pipeline.measure.cost import cost
from pipeline.measure.energy import energy
from pipeline.measure.gpu import gpu
from pipeline.measure.server_process import server_process
from pipeline.measure.telemetry import telemetry_rows
from pipeline.measure.window import MeasuredWindow
from tests.support.values import MS, make_record

SECOND = 1000  # ms
RECORDS = [make_record(sent_ms=1 * SECOND, chunks=((2 * SECOND, 1), (3 * SECOND, 4)))]  # 4 tokens from 1 to 3 s


def sample(at_s: float, **told: object) -> TelemetrySample:
    return TelemetrySample(at_ns=int(at_s * SECOND * MS), **told)


def window(*samples: TelemetrySample, **changes: object) -> MeasuredWindow:
    return MeasuredWindow(RECORDS, samples=samples, **changes)


def test_energy_is_read_at_both_ends_of_the_window_between_samples() -> None:
    found = energy(window(sample(0, energy_mj=0), sample(2, energy_mj=100_000), sample(4, energy_mj=500_000)))
    assert found["energy_joules"] == 300 - 50  # halfway to the first, halfway to the last
    assert found["joules_per_output_token"] == 250 / 4
    assert found["power_mean_w"] == 250 / 2


def test_without_an_energy_counter_power_is_the_mean_of_samples_and_energy_unknown() -> None:
    found = energy(window(sample(0, power_mw=900_000), sample(2, power_mw=100_000), sample(2.5, power_mw=300_000)))
    assert found == {
        "energy_joules": None,
        "joules_per_output_token": None,
        "power_mean_w": 200,
        "power_peak_w": 300,
    }


@pytest.mark.parametrize("outside", [(1.5, 4), (0, 2.5)])
def test_energy_is_unknown_without_a_sample_on_either_side(outside: tuple) -> None:
    first, last = outside
    assert energy(window(sample(first, energy_mj=1), sample(last, energy_mj=2)))["energy_joules"] is None


def test_a_counter_that_fell_is_no_energy() -> None:
    reset = (sample(0, energy_mj=50), sample(2, energy_mj=10), sample(4, energy_mj=60))
    assert energy(window(*reset))["energy_joules"] is None


def test_clocks_and_heat_are_of_the_samples_inside() -> None:
    found = gpu(
        window(
            sample(0.9, sm_clock_mhz=1, temperature_c=99, foreign_processes=3),
            sample(1, sm_clock_mhz=1000, memory_clock_mhz=2000, temperature_c=60, gpu_utilization_percent=50),
            sample(2, sm_clock_mhz=1200, memory_clock_mhz=2000, temperature_c=70, gpu_utilization_percent=100),
            sample(3, gpu_memory_bytes=8, foreign_processes=1),
        )
    )
    assert found == {
        "sm_clock_mean_mhz": 1100,
        "memory_clock_mean_mhz": 2000,
        "temperature_peak_c": 70,
        "gpu_utilization_mean": 0.75,
        "gpu_memory_peak_bytes": 8,
        "throttled_share": None,
        "power_capped_share": None,
        "foreign_processes": 1,
    }


def test_heat_throttles_and_the_power_limit_caps() -> None:
    reasons = (
        pynvml.nvmlClocksEventReasonNone,
        pynvml.nvmlClocksEventReasonGpuIdle,
        pynvml.nvmlClocksEventReasonSwPowerCap,
        pynvml.nvmlClocksEventReasonSwThermalSlowdown | pynvml.nvmlClocksEventReasonSwPowerCap,
    )
    found = gpu(window(*(sample(1 + i / 10, clock_reasons=mask) for i, mask in enumerate(reasons))))
    assert (found["throttled_share"], found["power_capped_share"]) == (1 / 4, 2 / 4)


def test_the_bits_are_nvml_s() -> None:
    assert (
        pynvml.nvmlClocksEventReasonSwThermalSlowdown
        | pynvml.nvmlClocksEventReasonHwSlowdown
        | pynvml.nvmlClocksEventReasonHwThermalSlowdown
        | pynvml.nvmlClocksEventReasonHwPowerBrakeSlowdown
    ) == telemetry.THROTTLED
    assert pynvml.nvmlClocksEventReasonSwPowerCap == telemetry.POWER_CAPPED


def test_the_server_s_cpu_is_in_cores() -> None:
    found = server_process(
        window(
            sample(0, server_cpu_s=10.0, server_rss_bytes=9),
            sample(2, server_cpu_s=14.0, server_rss_bytes=5, errors=1),
            sample(4, server_cpu_s=18.0, server_rss_bytes=9),
        )
    )
    assert found == {
        "server_cpu_cores": (16 - 12) / 2,
        "server_rss_peak_bytes": 5,
        "telemetry_samples": 1,
        "telemetry_errors": 1,
    }


def test_without_telemetry_everything_is_undefined() -> None:
    bare = MeasuredWindow(RECORDS)
    assert set((energy(bare) | gpu(bare) | server_process(bare)).values()) == {None}
    assert telemetry_rows(bare) == []


def test_without_a_gpu_the_server_s_processes_are_known() -> None:
    cpu = window(sample(0, server_cpu_s=0.0), sample(2, server_rss_bytes=5), sample(4, server_cpu_s=4.0))
    assert set((energy(cpu) | gpu(cpu)).values()) == {None}
    assert server_process(cpu)["server_cpu_cores"] == 1


def test_the_warehouse_gets_a_row_for_ten_seconds() -> None:
    long = [make_record(sent_ms=0, chunks=((25 * SECOND, 1),))]
    samples = [sample(at, power_mw=at * 1000, server_cpu_s=2.0 * at, clock_reasons=0x40) for at in range(26)]
    rows = telemetry_rows(MeasuredWindow(long, samples=samples))
    assert [(row.period, row.offset_s, row.duration_s, row.samples) for row in rows] == [
        (0, 0, 10, 10),
        (1, 10, 10, 10),
        (2, 20, 5, 5),
    ]
    assert [row.power_peak_w for row in rows] == [9, 19, 24]
    assert [row.power_mean_w for row in rows] == [4.5, 14.5, 22]
    assert {(row.server_cpu_cores, row.throttled_share, row.temperature_peak_c) for row in rows} == {(2, 1, None)}


def test_a_price_is_stated_or_there_is_none() -> None:
    priced = window(usd_per_gpu_hour=3.6, gpus=1)
    assert cost(priced) == {
        "usd_per_gpu_hour": 3.6,
        "usd_per_million_output_tokens": pytest.approx(3.6 / 3600 * 2 / 4 * 1e6),
    }
    assert set(cost(window(gpus=1)).values()) == {None}
    assert set(cost(window(usd_per_gpu_hour=3.6, gpus=0)).values()) == {None}  # a CPU has no GPU-hour
