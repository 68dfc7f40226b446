"""What all tests share: how many examples a property gets, and where the project lies."""

import os
from pathlib import Path

from hypothesis import HealthCheck, settings

pytest_plugins = ["tests.postgres_server", "tests.pack_set", "tests.chromium"]

ROOT = Path(__file__).resolve().parent.parent

COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "database": None}
settings.register_profile("quick", max_examples=60, derandomize=True, **COMMON)
# The long lane says how many; with SLOT_AUDIT_RANDOM its examples differ from run to run, and a failure prints how to repeat it.
settings.register_profile(
    "long",
    max_examples=int(os.environ.get("SLOT_AUDIT_EXAMPLES", "2000")),
    derandomize=not os.environ.get("SLOT_AUDIT_RANDOM"),
    print_blob=True,
    **COMMON,
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))
