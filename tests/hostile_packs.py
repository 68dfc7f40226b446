"""Files that are no honest pack at all: made to harm whoever opens them. Each is made of a right pack's bytes.

`hostile_zips` are those of a harmful form, `hostile_files` those whose form is right and whose files are not.
"""

import tests.hostile_files
import tests.hostile_zips  # noqa: F401 - each notes its makers
from tests.hostile_makers import HOSTILE

__all__ = ["HOSTILE"]
