"""Every setting, by area. A setting stands here only if the product obeys it; each names the module that does."""

from typing import Any

from django.utils.translation import gettext_lazy as _

from kb_platform.runtime_config.kinds import (
    Area,
    Choice,
    Choices,
    Decimal,
    Effect,
    Hosts,
    Number,
    Secret,
    Setting,
    Switch,
    Text,
    WebAddress,
)

AREAS = (
    Area(key="general", label=_("General"), sub=_("Name, language and appearance."), icon="settings"),
    Area(key="access", label=_("Sign-in and access"), sub=_("How people sign in, and for how long."), icon="lock"),
    Area(key="uploads", label=_("Uploads"), sub=_("Which files may be uploaded."), icon="upload"),
    Area(key="retrieval", label=_("Search"), sub=_("What is searched, and what counts."), icon="route", trial="debugger", tries_unsaved=True),
    Area(key="processing", label=_("Processing"), sub=_("How long a file may take, and how many may wait."), icon="activity"),
    Area(key="models", label=_("Models"), sub=_("Which models help to search. Keys are write-only."), icon="cpu", trial="reranker_try"),
    Area(key="network", label=_("Outgoing connections"), sub=_("Which servers this site may call."), icon="plug-connected"),
    Area(key="retention", label=_("Retention"), sub=_("What is kept, and for how long."), icon="archive"),
)  # fmt: skip

SITE_NAME = Text(  # kb_platform.context_processors
    name="general.site_name",
    label=_("Product name"),
    help=_("Shown at top left, in the title of each page and on sign-in."),
    default="",
    most=40,
    empty=_("Zhiku"),
)
DEFAULT_LANGUAGE = Choice(  # accounts.middleware
    name="general.default_language",
    label=_("Default language"),
    help=_("For people who have not chosen one."),
    default="",
    choices=(("", _("As the browser")), ("en", "English"), ("zh-hans", "中文")),
)
DEFAULT_THEME = Choice(  # accounts.services, kb_platform.context_processors
    name="general.default_theme",
    label=_("Default appearance"),
    help=_("For new accounts and on sign-in. Anyone can change their own."),
    default="auto",
    choices=(("auto", _("Follow the device")), ("light", _("Light")), ("dark", _("Dark"))),
)
SIGN_IN_NOTICE = Text(  # accounts.views.session
    name="general.sign_in_notice",
    label=_("Notice on sign-in"),
    help=_("A sentence or two above the form, for example on planned maintenance."),
    default="",
    most=300,
    lines=3,
)
HELP_CONTACT = Text(  # kb_platform.context_processors
    name="general.help_contact",
    label=_("Where to ask for help"),
    help=_("Shown on sign-in and error pages."),
    default="",
    most=120,
)
SESSION_HOURS = Number(  # accounts.sessions
    name="access.session_hours",
    label=_("Sign out after"),
    help=_("The person is told two minutes ahead and may stay signed in."),
    default=12,
    low=1,
    high=720,
    unit=_("hours"),
    effect=Effect.NEXT_SIGN_IN,
)
FREE_ATTEMPTS = Number(  # accounts.sign_in
    name="access.sign_in_attempts",
    label=_("Failed tries before a wait"),
    help=_("Per account and address within an hour. Then each try waits longer, up to 15 minutes."),
    default=5,
    low=3,
    high=20,
)
TOKEN_DAYS = Number(  # accounts.tokens
    name="access.longest_token_days",
    label=_("Longest life of an API token"),
    help=_("For new tokens; those that exist keep their end."),
    default=365,
    low=1,
    high=365,
    unit=_("days"),
)
LARGEST_FILE = Number(  # ingestion.blobs
    name="uploads.largest_mb",
    label=_("Largest file"),
    help=_("Larger files are refused while they are sent."),
    default=100,
    low=1,
    high=10_000,
    unit="MB",
    effect=Effect.NEW_FILES,
)
FILE_TYPES = Choices(  # ingestion.allowed_types
    name="uploads.types",
    label=_("Allowed types"),
    help=_("By content, not by name. Documents that are there already stay."),
    default=(
        "pdf",
        "docx",
        "pptx",
        "xlsx",
        "xls",
        "ods",
        "doc",
        "ppt",
        "odp",
        "image",
        "markdown",
        "html",
        "text",
        "csv",
        "eml",
        "msg",
        "odt",
        "epub",
        "rtf",
        "subtitles",
        "json",
        "yaml",
        "xml",
        "code",
        "markup",
        "archive",
    ),
    choices=(
        ("pdf", "PDF"),
        ("docx", "Word (DOCX)"),
        ("pptx", "PowerPoint (PPTX)"),
        ("xlsx", "Excel (XLSX)"),
        ("xls", "Excel 97–2003 (XLS)"),
        ("ods", "OpenDocument (ODS)"),
        ("doc", "Word 97–2003 (DOC)"),
        ("ppt", "PowerPoint 97–2003 (PPT)"),
        ("odp", "OpenDocument (ODP)"),
        ("image", _("Pictures")),
        ("markdown", "Markdown"),
        ("html", "HTML"),
        ("text", _("Plain text")),
        ("csv", _("CSV tables")),
        ("eml", _("Mail (EML)")),
        ("msg", _("Outlook mail (MSG)")),
        ("odt", "OpenDocument (ODT)"),
        ("epub", "EPUB"),
        ("rtf", "RTF"),
        ("subtitles", _("Subtitles (SRT, VTT)")),
        ("json", "JSON"),
        ("yaml", "YAML"),
        ("xml", "XML"),
        ("code", _("Source code")),
        ("markup", "AsciiDoc, reStructuredText"),
        ("archive", _("ZIP archives")),
    ),
    effect=Effect.NEW_FILES,
)
STALL_MINUTES = Number(  # ingestion.ledger
    name="processing.stall_minutes",
    label=_("Without progress"),
    help=_(
        "A file that gets no further for so long is set aside. Progress, for example a page read, begins the time anew."
    ),
    default=10,
    low=1,
    high=1440,
    unit=_("minutes"),
)
LONGEST_HOURS = Number(  # ingestion.ledger
    name="processing.longest_hours",
    label=_("Longest time"),
    help=_(
        "For one file at one step, whatever progress it makes. A scan of 400 pages may take over an hour."
    ),
    default=12,
    low=1,
    high=168,
    unit=_("hours"),
)
MOST_WAITING = Number(  # ingestion.intake
    name="processing.most_waiting",
    label=_("Waiting files a person"),
    help=_("Whoever has this many files waiting must wait before sending more. Others are not affected."),
    default=2000,
    low=10,
    high=100_000,
    unit=_("files"),
    zero=_("any number"),
)
RERANKER = Choice(  # this one and those below: retrieval.reranking
    name="models.reranker",
    label=_("Reranker"),
    help=_("A model that reads question and passage together and puts the best ones in order again."),
    default="none",
    choices=(
        ("none", _("None")),
        ("local", _("CrossEncoder in a folder of the server (KB_RERANKER_MODEL)")),
        ("tei", "Text Embeddings Inference"),
        ("cohere", "Cohere"),
        ("jina", _("Jina, vLLM, Xinference and the like")),
    ),
)
RERANKER_URL = WebAddress(
    name="models.reranker_url",
    label=_("Address of the reranking server"),
    help=_(
        "Of the server, or of its /rerank. One of the internal network must be allowed under Outgoing connections."
    ),
    default="",
    most=500,
)
RERANKER_MODEL = Text(
    name="models.reranker_model",
    label=_("Model"),
    help=_("The name under which the server offers it. Text Embeddings Inference needs none."),
    default="",
    most=200,
)
RERANKER_KEY = Secret(
    name="models.reranker_key",
    label=_("API key"),
    help=_("Write-only; leave empty to keep it."),
)
RERANKER_MS = Number(
    name="models.reranker_ms",
    label=_("Time limit for reranking"),
    help=_("If it takes longer, the order without it stays, and the page says so."),
    default=1500,
    low=50,
    high=20_000,
    unit="ms",
)
RERANK_CANDIDATES = Number(
    name="models.rerank_candidates",
    label=_("Passages to rerank"),
    help=_(
        "The best ones by the first ranking; those behind them are left out, and the search record keeps them."
    ),
    default=40,
    low=5,
    high=200,
)
EXTERNAL_SOURCES = Switch(  # this one and the next: retrieval.search_settings
    name="retrieval.external",
    label=_("Ask external sources"),
    help=_("The sources kept under External sources, each for its own groups."),
    default=True,
)
EXTERNAL_MS = Number(
    name="retrieval.external_ms",
    label=_("Time limit for external sources"),
    help=_("What has not come by then is left out, and the page says so."),
    default=2500,
    low=100,
    high=20_000,
    unit="ms",
)
INTERNAL_HOSTS = Hosts(  # kb_platform.net.safe_http
    name="network.internal_hosts",
    label=_("Allowed servers of the internal network"),
    help=_(
        "host:port, one on each line, for example search.example.lan:9200. Servers on the internet need no entry; all other internal addresses are refused."
    ),
    default="",
    most=4000,
    lines=5,
)
DENSE_CHANNEL = Switch(  # this one and those below: retrieval.search_settings
    name="retrieval.dense",
    label=_("Search by meaning"),
    help=_(
        "Finds passages in other words and in the other language. Without it only words that occur are found."
    ),
    default=True,
)
LEXICAL_CHANNEL = Switch(
    name="retrieval.lexical",
    label=_("Search by words"),
    help=_("Finds names, codes and numbers exactly."),
    default=True,
)
CANDIDATE_POOL = Number(
    name="retrieval.pool",
    label=_("Candidates per channel"),
    help=_("More finds more, more slowly."),
    default=100,
    low=10,
    high=500,
)
FUSION = Choice(
    name="retrieval.fusion",
    label=_("Merging"),
    help=_("How what was found by words and by meaning becomes one list."),
    default="evidence",
    choices=(
        ("evidence", _("By evidence")),
        ("rrf", _("By rank (RRF)")),
        ("minmax", _("By score (weighted min-max)")),
        ("cascade", _("One after the other (cascade)")),
    ),
)
RRF_K = Number(
    name="retrieval.rrf_k",
    label=_("Constant k of RRF"),
    help=_("Counts when merging by rank; larger favours what both channels found."),
    default=60,
    low=1,
    high=1000,
)
MEANING_SHARE = Decimal(
    name="retrieval.meaning_share",
    label=_("Share of meaning"),
    help=_("Counts when merging by score, from 0 to 1; words have the rest."),
    default=0.7,
    low=0,
    high=1,
)
COSINE_SPREAD = Decimal(  # this one and those below: retrieval.weights; `calibrate_retrieval` proposes values
    name="retrieval.cosine_spread",
    label=_("Unit of nearness"),
    help=_("Counts when merging by evidence: a cosine of this size is worth 1."),
    default=0.08,
    low=0.01,
    high=1,
)
WORD_WEIGHT = Decimal(
    name="retrieval.word_weight",
    label=_("Weight of words"),
    help=_("For a passage that has all words of the question; rare words count more."),
    default=3.0,
    low=0,
    high=100,
)
CODE_WEIGHT = Decimal(
    name="retrieval.code_weight",
    label=_("Weight of codes"),
    help=_("For a passage that has the very codes and model numbers of the question, in addition."),
    default=10.0,
    low=0,
    high=100,
)
PHRASE_WEIGHT = Decimal(
    name="retrieval.phrase_weight",
    label=_("Weight of quoted phrases"),
    help=_("For a passage that has what is quoted in the question word for word, in addition."),
    default=3.0,
    low=0,
    high=100,
)
FOREIGN_BONUS = Decimal(
    name="retrieval.foreign_bonus",
    label=_("Bonus of the other language"),
    help=_("For a passage in another language than the question, which cannot have its words."),
    default=1.0,
    low=0,
    high=100,
)
EVIDENCE_COSINE = Decimal(
    name="retrieval.evidence_cosine",
    label=_("Least nearness for an answer"),
    help=_("A question is refused when no passage is so near and none has so many of its words."),
    default=0.26,
    low=-1,
    high=1,
)
EVIDENCE_COVERAGE = Decimal(
    name="retrieval.evidence_coverage",
    label=_("Least share of words for an answer"),
    help=_("See above."),
    default=0.3,
    low=0,
    high=1,
)
EVIDENCE_WITH_CODE = Decimal(
    name="retrieval.evidence_with_code",
    label=_("Share of words that makes up for a missing code"),
    help=_(
        "With fewer words the evidence counts as weak when no passage has a code or number of the question."
    ),
    default=0.6,
    low=0,
    high=1,
)
SCORE_THRESHOLD = Decimal(
    name="retrieval.threshold",
    label=_("Least score"),
    help=_(
        "Passages with a lower final score are left out. Empty leaves out nothing; 0 is a bound like any other."
    ),
    default=None,
    low=-100,
    high=100,
)
FOLD_DUPLICATES = Switch(
    name="retrieval.fold",
    label=_("Show the same text once"),
    help=_("Passages that say the same with the same numbers are shown once, with the other places beneath."),
    default=True,
)
DIVERSITY = Decimal(
    name="retrieval.diversity",
    label=_("Variety"),
    help=_("From 0, the best fit only, to 1, as different as possible. Empty switches it off."),
    default=None,
    low=0,
    high=1,
)
CACHE_SECONDS = Number(
    name="retrieval.cache_seconds",
    label=_("Remember rankings"),
    help=_(
        "The same question of readers with the same rights is ranked once. Any change of documents or rights ends it."
    ),
    default=60,
    low=1,
    high=3600,
    unit=_("seconds"),
    zero=_("never"),
)
UNDERSTAND_CONDITIONS = Switch(
    name="retrieval.conditions",
    label=_("Conditions in questions"),
    help=_(
        "“In HR policies”, “documents updated last year”: what is said of documents narrows the search, and can be taken back."
    ),
    default=True,
)
UNDERSTAND_FOLLOW_UPS = Switch(
    name="retrieval.follow_ups",
    label=_("Follow-up questions"),
    help=_("“And for interns?” is asked with what the last three questions were about."),
    default=True,
)
UNDERSTAND_PARTS = Switch(
    name="retrieval.parts",
    label=_("Questions of several parts"),
    help=_("Each part is looked for by itself, so that all have their passages."),
    default=True,
)
FAQ_ANSWERS = Switch(
    name="retrieval.faq",
    label=_("Answers of the FAQ"),
    help=_("A question that stands in the FAQ of a collection gets the answer that is written there."),
    default=True,
)
TABLE_ANSWERS = Switch(
    name="retrieval.tables",
    label=_("Answers from tables"),
    help=_(
        "Totals, averages, highest values and look-ups are computed over whole tables, with their rows as sources."
    ),
    default=True,
)
FAQ_SIMILARITY = Decimal(
    name="retrieval.faq_similarity",
    label=_("Nearness of FAQ questions"),
    help=_(
        "How near a question in other words must be to one of the FAQ, whose words of content, numbers and restrictions it must share besides. Empty: only word for word."
    ),
    default=0.7,
    low=0.5,
    high=1,
)
CONVERSATION_DAYS = Number(  # retrieval.tasks
    name="retention.conversation_days",
    label=_("Chats"),
    help=_("Counted from the last question. Deleted with answers and citations. 0 keeps them."),
    default=0,
    low=7,
    high=3650,
    unit=_("days"),
    zero=_("for ever"),
    effect=Effect.NIGHTLY,
)
TRACE_DAYS = Number(  # retrieval.tasks
    name="retention.trace_days",
    label=_("Search records"),
    help=_("Which passages a search found and how long it took, with its question."),
    default=30,
    low=1,
    high=365,
    unit=_("days"),
    effect=Effect.NIGHTLY,
)
AUDIT_DAYS = Number(  # kb_platform.tasks
    name="retention.audit_days",
    label=_("Audit log"),
    help=_("Ask your legal department before you shorten it."),
    default=1095,
    low=90,
    high=3650,
    unit=_("days"),
    effect=Effect.NIGHTLY,
)
FAILURE_DAYS = Number(  # accounts.tasks
    name="retention.sign_in_failure_days",
    label=_("Failed sign-ins"),
    help=_("Address and account of failed tries. The wait after them needs one hour."),
    default=1,
    low=1,
    high=90,
    unit=_("days"),
    effect=Effect.NIGHTLY,
)

SETTINGS: dict[str, Setting[Any]] = {
    setting.name: setting
    for setting in (
        SITE_NAME,
        DEFAULT_LANGUAGE,
        DEFAULT_THEME,
        SIGN_IN_NOTICE,
        HELP_CONTACT,
        SESSION_HOURS,
        FREE_ATTEMPTS,
        TOKEN_DAYS,
        LARGEST_FILE,
        FILE_TYPES,
        STALL_MINUTES,
        LONGEST_HOURS,
        MOST_WAITING,
        RERANKER,
        RERANKER_URL,
        RERANKER_MODEL,
        RERANKER_KEY,
        RERANKER_MS,
        RERANK_CANDIDATES,
        INTERNAL_HOSTS,
        DENSE_CHANNEL,
        LEXICAL_CHANNEL,
        CANDIDATE_POOL,
        FUSION,
        RRF_K,
        SCORE_THRESHOLD,
        MEANING_SHARE,
        COSINE_SPREAD,
        WORD_WEIGHT,
        CODE_WEIGHT,
        PHRASE_WEIGHT,
        FOREIGN_BONUS,
        EVIDENCE_COSINE,
        EVIDENCE_COVERAGE,
        EVIDENCE_WITH_CODE,
        FOLD_DUPLICATES,
        DIVERSITY,
        CACHE_SECONDS,
        UNDERSTAND_CONDITIONS,
        UNDERSTAND_FOLLOW_UPS,
        UNDERSTAND_PARTS,
        FAQ_ANSWERS,
        FAQ_SIMILARITY,
        TABLE_ANSWERS,
        EXTERNAL_SOURCES,
        EXTERNAL_MS,
        CONVERSATION_DAYS,
        TRACE_DAYS,
        AUDIT_DAYS,
        FAILURE_DAYS,
    )
}


def settings_of(area: str) -> list[Setting[Any]]:
    return [setting for setting in SETTINGS.values() if setting.area == area]
