"""What all tests share."""

import os

from hypothesis import settings

pytest_plugins = "pytester"  # runs pytest inside of a test; it has to be asked for here

# No test depends on the models and keys of the environment that it happens to run in.
for name in list(os.environ):
    if name.startswith(("GISKARD_CHECKS_", "OPENAI_")):
        del os.environ[name]

# A busy machine is no fault of an example: what must be fast is measured by tests of its own.
settings.register_profile("tests", deadline=None)
settings.load_profile("tests")
