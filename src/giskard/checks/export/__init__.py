"""Results as files that others read: JUnit XML, JSON, JSON lines, the Hub's data."""

from giskard.checks.export.hub import to_hub_format
from giskard.checks.export.json_files import to_json_lines, to_report_json
from giskard.checks.export.junit import to_junit_xml

__all__ = ["to_hub_format", "to_json_lines", "to_junit_xml", "to_report_json"]
