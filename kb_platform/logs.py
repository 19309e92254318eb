"""Log lines: one JSON object, or one readable line, each with the trace id; control characters are escaped."""

import json
import logging
from datetime import UTC, datetime

from kb_platform.trace import trace_id

_STANDARD = set(vars(logging.makeLogRecord({}))) | {"message", "asctime", "trace_id"}


class TraceIdFilter(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        record.trace_id = trace_id()
        return True


def _extras(record: logging.LogRecord) -> dict[str, object]:
    return {key: value for key, value in vars(record).items() if key not in _STANDARD}


class JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "event": record.getMessage(),
            "trace_id": getattr(record, "trace_id", ""),
            **_extras(record),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


class PlainFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).strftime("%H:%M:%S")
        extras = " ".join(f"{key}={value!r}" for key, value in _extras(record).items())
        message = record.getMessage().replace("\r", "\\r").replace("\n", "\\n")
        line = f"{at} {record.levelname:<7} {record.name} {message} {extras}".rstrip()
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line
