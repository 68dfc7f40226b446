"""What all tests share: how many examples a property gets, and where the project lies."""

import os
from pathlib import Path

from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent

settings.register_profile(
    "quick", max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True, database=None
)
settings.register_profile("long", max_examples=2000, deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))
