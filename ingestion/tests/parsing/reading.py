"""Parsers called on bytes, as the tests call them."""

from collections.abc import Callable
from types import ModuleType

from ingestion.parsing.elements import ParsedDocument
from ingestion.parsing.formats import Source


def parser_of(module: ModuleType) -> Callable[[bytes], ParsedDocument]:
    return lambda data: module.parse(Source(data=data))
