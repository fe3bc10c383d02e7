"""The real system, one a session."""

from tests.support.system import running_system, system_home

__all__ = ["running_system", "system_home"]
