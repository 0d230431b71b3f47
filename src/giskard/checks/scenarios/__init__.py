"""Running scenarios, alone and in suites."""
