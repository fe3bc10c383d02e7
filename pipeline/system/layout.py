"""Where the system keeps its things below the home."""

from dataclasses import dataclass
from pathlib import Path

from pipeline.system.processes import home_marker
from pipeline.system.supervise import Supervisor


@dataclass(frozen=True, slots=True)
class Layout:
    """Directories and files of one home."""

    home: Path

    @property
    def marker(self) -> str:
        """What processes of this home carry."""
        return home_marker(self.home)

    @property
    def postgres(self) -> Path:
        """Data directory of the embedded database."""
        return self.home / "postgres"

    @property
    def airflow(self) -> Path:
        """AIRFLOW_HOME of the central services, with the secrets."""
        return self.home / "airflow"

    @property
    def edge(self) -> Path:
        """AIRFLOW_HOME of the edge worker."""
        return self.home / "airflow" / "edge"

    @property
    def logs(self) -> Path:
        """Logs of services and tasks."""
        return self.home / "logs"

    @property
    def run(self) -> Path:
        """What is true only while the system runs."""
        return self.home / "run"

    @property
    def state(self) -> Path:
        """What `up` chose."""
        return self.run / "system.json"

    @property
    def lock(self) -> Path:
        """Held by `up` and `down`: two of them at once would fight."""
        return self.run / "system.lock"

    @property
    def supervisor(self) -> Supervisor:
        """The process supervisor of this home."""
        return Supervisor(run=self.run, logs=self.logs, marker=self.marker)

    def make(self) -> None:
        """Create the directories, the secret ones for their owner only."""
        for directory in (self.home, self.logs, self.airflow, self.edge, self.run):
            directory.mkdir(parents=True, exist_ok=True)
        self.airflow.chmod(0o700)
        self.run.chmod(0o700)
