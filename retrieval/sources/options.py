"""What each kind of source asks for: names, labels, limits and defaults of its options. One list for pages, API and services."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django_stubs_ext import StrOrPromise

from kb_platform.errors import InvalidInput
from kb_platform.net.errors import AddressRefused
from kb_platform.net.safe_http import checked_url
from retrieval.channels.external.langchain import named_retrievers
from retrieval.channels.external.sql import parameters_of, statement_fault
from retrieval.channels.external.values import SourceKind

_NAME = r"[^\s\x00-\x1f/?#]{1,200}"
_FIELD = r"[\w.@\- ]{1,100}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """pattern: of the whole value. lines: of the field on the page. choices: the only values there are."""

    name: str
    label: StrOrPromise
    help: StrOrPromise = ""
    default: str = ""
    required: bool = False
    pattern: str = ""
    most: int = 300
    lines: int = 1
    choices: tuple[tuple[str, StrOrPromise], ...] = ()


_ADDRESS = Option(
    name="url",
    label=gettext_lazy("Address"),
    help=gettext_lazy(
        "Begins with http:// or https://. One of the internal network must be allowed under Settings, Outgoing connections."
    ),
    required=True,
    most=1000,
)


def _field(name: str, label: StrOrPromise, default: str = "", *, required: bool = False) -> Option:
    return Option(name=name, label=label, default=default, required=required, pattern=_FIELD, most=100)


OPTIONS: dict[SourceKind, tuple[Option, ...]] = {
    SourceKind.DIFY: (
        _ADDRESS,
        Option(
            name="knowledge_id",
            label=gettext_lazy("Knowledge ID"),
            help=gettext_lazy("As the other system names the knowledge base."),
            required=True,
            most=200,
        ),
    ),
    SourceKind.HTTP: (
        _ADDRESS,
        Option(
            name="method",
            label=gettext_lazy("Method"),
            default="POST",
            choices=(("POST", gettext_lazy("POST with JSON")), ("GET", gettext_lazy("GET with parameters"))),
        ),
        _field("question_field", gettext_lazy("Name of the question"), "query", required=True),
        _field("limit_field", gettext_lazy("Name of the number of results"), "top_k"),
        _field("results_path", gettext_lazy("Where the results stand"), "results"),
        _field("text_field", gettext_lazy("Field of the text"), "text", required=True),
        _field("title_field", gettext_lazy("Field of the title"), "title"),
        _field("url_field", gettext_lazy("Field of the link"), "url"),
        _field("score_field", gettext_lazy("Field of the score"), "score"),
        _field("id_field", gettext_lazy("Field of the id"), "id"),
    ),
    SourceKind.ELASTICSEARCH: (
        _ADDRESS,
        Option(
            name="index",
            label=gettext_lazy("Index"),
            help=gettext_lazy("A name, several by commas, or with * at the end."),
            required=True,
            pattern=r"[a-z0-9][a-z0-9._,*\-]{0,199}",
        ),
        _field("text_field", gettext_lazy("Field of the text"), "content", required=True),
        _field("title_field", gettext_lazy("Field of the title"), "title"),
        _field("url_field", gettext_lazy("Field of the link"), "url"),
        Option(
            name="username",
            label=gettext_lazy("User name"),
            help=gettext_lazy("With a user name the secret is its password; without one it is an API key."),
            pattern=r"[^\s:\x00-\x1f]{1,100}",
        ),
    ),
    SourceKind.SQL: (
        Option(
            name="host",
            label=gettext_lazy("Host"),
            help=gettext_lazy(
                "One of the internal network must be allowed, with its port, under Settings, Outgoing connections."
            ),
            required=True,
            pattern=_NAME,
        ),
        Option(
            name="port", label=gettext_lazy("Port"), default="5432", required=True, pattern=r"[1-9][0-9]{0,4}"
        ),
        Option(name="database", label=gettext_lazy("Database"), required=True, pattern=_NAME),
        Option(
            name="user",
            label=gettext_lazy("Role"),
            help=gettext_lazy("One that may only read the view; a superuser is refused."),
            required=True,
            pattern=_NAME,
        ),
        Option(
            name="sslmode",
            label=gettext_lazy("Encryption"),
            default="prefer",
            choices=(
                ("prefer", gettext_lazy("if the server offers it")),
                ("require", gettext_lazy("always")),
                ("verify-full", gettext_lazy("always, with the certificate checked")),
            ),
        ),
        Option(
            name="statement",
            label=gettext_lazy("Statement"),
            help=gettext_lazy(
                "A SELECT that gives title and text, and if it can id, url and score. %(question)s is the question, %(limit)s the number of rows, %(allowed)s the values a group is limited to."
            ),
            default="select id, title, body as text, url\nfrom knowledge\nwhere to_tsvector('simple', body) @@ plainto_tsquery('simple', %(question)s)\nlimit %(limit)s",
            required=True,
            most=5000,
            lines=8,
        ),
    ),
    SourceKind.LANGCHAIN: (
        Option(
            name="retriever",
            label=gettext_lazy("Name of the retriever"),
            help=gettext_lazy(
                "One of those that the operator of the server named in KB_LANGCHAIN_RETRIEVERS."
            ),
            required=True,
            pattern=_NAME,
        ),
    ),
}
NEEDS_SECRET = frozenset({SourceKind.SQL})


def clean_options(kind: SourceKind, given: Mapping[str, object]) -> dict[str, str]:
    """The options of that kind as texts, defaults filled in. Raises InvalidInput that names what cannot be used."""
    cleaned: dict[str, str] = {}
    problems: dict[str, StrOrPromise] = {}
    for option in OPTIONS[kind]:
        value = given.get(option.name, option.default)
        text = value.replace("\r\n", "\n").strip() if isinstance(value, str) else str(value or "")
        if problem := _fault(option, text):
            problems[option.name] = problem
        cleaned[option.name] = text
    if unknown := [name for name in given if name not in cleaned]:
        problems |= dict.fromkeys(unknown, _("There is no such option for this kind of source."))
    if problems:
        raise InvalidInput(fields=problems)
    return cleaned


def _fault(option: Option, text: str) -> str:
    if not text:
        return _("This is needed.") if option.required else ""
    if len(text) > option.most or "\x00" in text:
        return _("At most %(most)d characters.") % {"most": option.most}
    if option.choices and text not in dict(option.choices):
        return _("Choose one of the values offered.")
    if option.pattern and not re.fullmatch(option.pattern, text):
        return _("This has characters that cannot be used here.")
    if option.name == "retriever" and text not in named_retrievers():
        return _("No retriever of this name is set up on the server.")
    if option.name == "url":
        return _address_fault(text)
    return _statement_text(statement_fault(text)) if option.name == "statement" else ""


def _address_fault(text: str) -> str:
    try:
        checked_url(text)
    except AddressRefused:
        return _("Give an address that begins with http:// or https://, without name and password.")
    return ""


def _statement_text(code: str) -> str:
    return {
        "no_select": _("The statement must begin with SELECT or WITH."),
        "several": _("Give one statement, without a semicolon."),
        "parameter": _(
            "Only %%(question)s, %%(limit)s and %%(allowed)s may stand for values; write any other percent sign twice."
        )
        % {},
        "no_question": _("The statement must use %%(question)s.") % {},
        "": "",
    }[code]


def obeys_limits(kind: SourceKind, options: Mapping[str, str]) -> bool:
    """Whether the source can be held to the values of a group."""
    return kind is not SourceKind.SQL or "allowed" in parameters_of(options.get("statement", ""))
