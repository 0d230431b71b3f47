"""Results as files that others read: JUnit XML, the Hub's JSON."""

from giskard.checks.export.hub import to_hub_format
from giskard.checks.export.junit import to_junit_xml

__all__ = ["to_hub_format", "to_junit_xml"]
