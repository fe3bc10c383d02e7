"""`specwatch up`, `down`, `status`: the whole system on this machine."""

from typing import Any

from pipeline.cli.output import progress_bar, say, say_json, table
from pipeline.errors import EXIT_DONE, EXIT_ENVIRONMENT
from pipeline.settings import REPOSITORY, Settings, load_settings
from pipeline.system.state import SystemState


def run(arguments: Any) -> int:
    """Dispatch the three verbs."""
    settings = load_settings()
    if arguments.command == "down":
        from pipeline.system.down import down

        with progress_bar("ending") as (_, report):
            down(settings.home, report=report)
        return EXIT_DONE
    if arguments.command == "status":
        return _status(settings, as_json=arguments.json)
    state = start(settings)
    if arguments.json:
        say_json({"airflow": state.airflow_url, "dashboard": state.dashboard_url, "passwords": state.passwords_file})
    else:
        say(f"dashboard  {state.dashboard_url}")
        say(f"airflow    {state.airflow_url}  (user admin, password in {state.passwords_file})")
        say("end it with: specwatch down")
    return EXIT_DONE


def start(settings: Settings, *, nightly_cron: str | None = None) -> SystemState:
    """Bring everything up, the warehouse migrated. `nightly_cron` replaces that of the settings."""
    from pipeline.steps.warehousing import migrate_warehouse, warehouse_reader_url
    from pipeline.system.up import up

    with progress_bar("starting") as (progress, report):
        return up(
            settings.home,
            repository=REPOSITORY,
            runs=settings.runs,
            report=report,
            progress=progress,
            warehouse_url=settings.warehouse_url,
            postgres_port=settings.postgres_port,
            airflow_port=settings.airflow_port,
            dashboard_port=settings.dashboard_port,
            nightly_cron=settings.nightly_cron if nightly_cron is None else nightly_cron,
            nightly_timezone=settings.nightly_timezone,
            maintenance_cron=settings.maintenance_cron,
            backups=str(settings.backups or ""),
            usd_per_gpu_hour="" if settings.usd_per_gpu_hour is None else str(settings.usd_per_gpu_hour),
            migrate=migrate_warehouse,
            reader_url=lambda: warehouse_reader_url(settings),
        )


def _status(settings: Settings, *, as_json: bool) -> int:
    from pipeline.system.status import status

    found = status(settings.home)
    if as_json:
        say_json(found.as_json())
    else:
        rows = [(s.name, s.state, s.pid, s.url or s.port, s.detail or None) for s in found.services]
        table(("service", "state", "pid", "address", "detail"), rows)
        for stray in found.strays:
            say(f"stray process of ours: {stray} (specwatch down ends it)")
    return EXIT_DONE if found.ready else EXIT_ENVIRONMENT
