"""What all tests share."""

import os

pytest_plugins = "pytester"  # runs pytest inside of a test; it has to be asked for here

# No test depends on the models and keys of the environment that it happens to run in.
for name in list(os.environ):
    if name.startswith(("GISKARD_CHECKS_", "OPENAI_")):
        del os.environ[name]
