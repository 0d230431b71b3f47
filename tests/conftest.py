"""What all tests share."""

import os

# No test depends on the models and keys of the environment that it happens to run in.
for name in list(os.environ):
    if name.startswith(("GISKARD_CHECKS_", "OPENAI_")):
        del os.environ[name]
