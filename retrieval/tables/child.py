"""What runs in the forked, limited child: one table and two statements in, numbers out. Knows no Django.

DuckDB gets no files, no network, no extensions, one thread and little memory; the process sees no files either where the
machine can take them away from it.
"""

import io
import json
from contextlib import suppress
from typing import Any

import duckdb

from ingestion.parsing.confinement import CannotConfine, confinement

EXIT_DONE, EXIT_CRASHED, EXIT_MEMORY = 0, 70, 71
MAX_ROW_NUMBERS = 50_000
_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "threads": "1",
    "async_threads": "0",
    "memory_limit": "256MB",
    "temp_directory": "",
    "max_temp_directory_size": "0KB",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "python_enable_replacements": "false",
}


def run(job: dict[str, Any], *, source_fd: int, result_fd: int) -> int:
    """Answer the job whose table lies behind source_fd; returns the exit code."""
    with io.FileIO(source_fd) as source, io.FileIO(result_fd, "w") as pipe:
        given = json.loads(source.readall())
        try:
            pipe.write(json.dumps(_answer(given)).encode())
        except (MemoryError, duckdb.OutOfMemoryException):
            return EXIT_MEMORY
        except duckdb.Error:
            return EXIT_CRASHED
    return EXIT_DONE


def _answer(given: dict[str, Any]) -> dict[str, Any]:
    connection = duckdb.connect(":memory:", config=_SETTINGS)
    with suppress(CannotConfine):  # it has looked by now how much memory the machine has
        confinement(read=(), write=())()
    connection.execute("set enable_external_access = false")
    connection.execute("set lock_configuration = true")
    _fill(connection, given["columns"], given["row_count"])
    rows = connection.execute(given["rows"]["text"], given["rows"]["parameters"]).fetchmany(MAX_ROW_NUMBERS)
    answer: dict[str, Any] = {"rows": [number for (number,) in rows], "result": None}
    if result := given["result"]:
        found = connection.execute(result["text"], result["parameters"]).fetchall()
        answer["result"] = [[None if cell is None else str(cell) for cell in line] for line in found]
    return answer


def _fill(connection: duckdb.DuckDBPyConnection, columns: list[dict[str, Any]], row_count: int) -> None:
    """The table `t`: the number of each row, and the columns that the statements touch, typed."""
    names = ", ".join(f'"{column["name"]}" {column["type"]}' for column in columns)
    connection.execute(f'create table t ("row" integer{", " + names if names else ""})')
    lists = ", ".join(f"cast(unnest(cast(? as varchar[])) as {column['type']})" for column in columns)
    connection.execute(
        f"insert into t select unnest(range({int(row_count)})){', ' + lists if lists else ''}",
        [column["values"] for column in columns],
    )
