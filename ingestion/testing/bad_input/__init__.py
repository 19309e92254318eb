"""Files made to exhaust, mislead or crash a reader, each with the ways in which it may end.

`python -m ingestion.testing.bad_input FOLDER` writes them all. Nothing of it is kept in the repository: the files are
made when they are needed, the largest in about a second.
"""

from ingestion.testing.bad_input.catalogue import BAD_FILES, READ, BadFile, acceptable

__all__ = ["BAD_FILES", "READ", "BadFile", "acceptable"]
