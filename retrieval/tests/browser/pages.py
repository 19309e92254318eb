"""Every page of the site with an example address, and the states that matter. `test_pages.py` walks all of them.

A new route adds one line here: the name of the route, and how to open it. In braces stand ids of `scenery.build()`,
which makes another thing where none of them fits. Try it alone with

    .venv/bin/python -m pytest retrieval/tests/browser/test_pages.py -k my_route
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from unittest.mock import patch

from playwright.sync_api import Page as BrowserPage

from kb_platform.errors import Conflict, Unavailable
from retrieval.tests.browser.scenery import QUESTION

Act = Callable[[BrowserPage], None]


def nothing(_page: BrowserPage) -> None:
    """The page is looked at as it opens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """How to open a page.

    who: "keeper" (administrator who manages all content), "reader", "newcomer" (sees nothing) or "" (not signed in)
    act: what is done on it before it is looked at, such as sending a form with mistakes
    breaks: (dotted name, stand-in) pairs of the code that behave otherwise meanwhile
    foreign: drawn by somebody else's bundle: only what the frame answers for is looked at
    """

    path: str
    who: str = "keeper"
    status: int = 200
    act: Act = nothing
    breaks: tuple[tuple[str, object], ...] = field(default=())
    foreign: bool = False


def page(path: str, **how: object) -> Example:
    return Example(path=path, **how)  # type: ignore[arg-type]


def raising(error: Exception) -> Callable[..., object]:
    def fail(*_arguments: object, **_named: object) -> object:
        raise error

    return fail


def preview_entry(typed: str, name: str = "text") -> Act:
    """What an entry of the dictionary would do, looked at without sending the form."""

    def act(shown: BrowserPage) -> None:
        shown.locator(f"[name={name}]").fill(typed)
        shown.locator("#preview .toks").first.wait_for()

    return act


NO_ADMINISTRATOR = (("accounts.setup.has_administrator", lambda: False),)

# Route name -> how to open it.
PAGES: dict[str, Example] = {
    # kb_platform
    "api_docs": page("/api/docs", foreign=True),  # Swagger UI
    "processing": page("/system/processing"),
    "settings": page("/system/settings"),
    "settings_area": page("/system/settings/retention"),
    "settings_import": page("/system/settings/import"),
    # accounts
    "sign_in": page("/login", who=""),
    "new_password": page("/new-password/{password_key}", who=""),
    "first_start": page("/first-start/{first_start}", who="", breaks=NO_ADMINISTRATOR),
    "account": page("/account"),
    "conversations_delete_all": page("/account/chats/delete"),
    "tokens": page("/account/tokens"),
    "token_new": page("/account/tokens/new"),
    "token_revoke": page("/account/tokens/{token}/revoke"),
    "users": page("/system/users"),
    "user_new": page("/system/users/new"),
    "user": page("/system/users/{user}"),
    "user_deactivate": page("/system/users/{user}/deactivate"),
    "groups": page("/system/groups"),
    "group_new": page("/system/groups/new"),
    "group": page("/system/groups/{group}"),
    "group_delete": page("/system/groups/{group}/delete"),
    "audit": page("/system/audit"),
    # ingestion
    "collections": page("/manage/collections"),
    "collection_new": page("/manage/collections/new"),
    "collection": page("/manage/collections/{collection}"),
    "collection_activity": page("/manage/collections/{collection}/activity"),
    "collection_edit": page("/manage/collections/{collection}/edit"),
    "collection_chunking": page("/manage/collections/{collection}/chunking"),
    "collection_fields": page("/manage/collections/{collection}/fields"),
    "field_edit": page("/manage/collections/{collection}/fields/{field}"),
    "faq": page("/manage/collections/{collection}/faq"),
    "faq_new": page("/manage/collections/{collection}/faq/new"),
    "faq_edit": page("/manage/collections/{collection}/faq/{pair}"),
    "faq_import": page("/manage/collections/{collection}/faq/import"),
    "faq_import_check": page("/manage/collections/{collection}/faq/import/{faq_import}"),
    "collection_delete": page("/manage/collections/{collection}/delete"),
    "collection_sharing": page("/manage/collections/{collection}/sharing"),
    "documents": page("/manage/documents"),
    "document_upload": page("/manage/documents/upload"),
    "document_trash": page("/manage/documents/trash"),
    "upload_batch": page("/manage/uploads/{batch}"),
    "document": page("/manage/documents/{document}"),
    "document_chunks": page("/manage/documents/{document}/chunks"),
    "chunk_edit": page("/manage/documents/{document}/chunks/{chunk}/edit"),
    "chunk_split": page("/manage/documents/{document}/chunks/{chunk}/split"),
    "document_versions": page("/manage/documents/{versions}/versions"),
    "document_log": page("/manage/documents/{document}/log"),
    "document_owner": page("/manage/documents/{document}/owner"),
    "document_edit": page("/manage/documents/{document}/edit"),
    "document_move": page("/manage/documents/{document}/move"),
    "document_sharing": page("/manage/documents/{document}/sharing"),
    "document_delete": page("/manage/documents/{document}/delete"),
    "dictionary_terms": page("/manage/dictionary/terms", act=preview_entry("remote work")),
    "dictionary_terms_import": page("/manage/dictionary/terms/import"),
    "dictionary_terms_edit": page("/manage/dictionary/terms/{term}/edit"),
    "dictionary_terms_remove": page("/manage/dictionary/terms/{term}/remove"),
    "dictionary_synonyms": page(
        "/manage/dictionary/synonyms", act=preview_entry("travel, business trip", "phrases")
    ),
    "dictionary_synonyms_import": page("/manage/dictionary/synonyms/import"),
    "dictionary_synonyms_edit": page("/manage/dictionary/synonyms/{synonyms}/edit"),
    "dictionary_synonyms_remove": page("/manage/dictionary/synonyms/{synonyms}/remove"),
    "dictionary_stopwords": page("/manage/dictionary/stopwords", act=preview_entry("制度")),
    "dictionary_stopwords_import": page("/manage/dictionary/stopwords/import"),
    "dictionary_stopwords_edit": page("/manage/dictionary/stopwords/{stop_word}/edit"),
    "dictionary_stopwords_remove": page("/manage/dictionary/stopwords/{stop_word}/remove"),
    # retrieval
    "ask": page("/"),
    "conversation": page("/c/{conversation}"),
    "conversations": page("/c"),
    "conversation_rename": page("/c/{conversation}/rename"),
    "conversation_delete": page("/c/{conversation}/delete"),
    "library": page("/library"),
    "library_collection": page("/library/{collection}"),
    "search": page("/search?q=remote+work"),
    "external_sources": page("/manage/sources"),
    "external_source_new": page("/manage/sources/new?kind=sql"),
    "external_source": page("/manage/sources/{external_source}"),
    "external_source_delete": page("/manage/sources/{external_source}/delete"),
    "reranker_try": page("/system/settings/models/try"),
    "why": page("/traces/{trace}"),
    "debugger": page("/manage/debugger"),
    "debugger_trace": page("/manage/debugger/{trace}"),
    "debugger_case": page("/manage/debugger/{trace}/case"),
    "evaluation_cases": page("/manage/cases"),
    "source": page("/d/{document}"),
    "source_page": page("/d/{pdf}/p/1"),
}

# GET routes that give no whole page: route name -> what they give instead.
NO_PAGES = {
    "audit_export": "a CSV file",
    "dictionary_terms_export": "a CSV or text file",
    "dictionary_synonyms_export": "a CSV or text file",
    "dictionary_stopwords_export": "a CSV or text file",
    "version_file": "the original file",
    "healthz": "JSON",
    "readyz": "JSON",
    "metrics": "text for Prometheus",
    "schema": "YAML",
    "api_docs_css": "a style sheet",
    "settings_export": "a YAML file",
    "evaluation_cases_export": "JSON lines",
    "processing_tray": "a part of the documents page",
    "holder_search": "buttons of people and groups to share with",
    "message": "one turn of a conversation",
}


def send_empty(shown: BrowserPage) -> None:
    """Post the page's main form past the browser's own checks."""
    form = shown.locator("main form[method=post]:has(.field)").first
    with shown.expect_navigation():
        form.evaluate("form => { form.noValidate = true; form.requestSubmit(); }")


def sign_in_wrongly(shown: BrowserPage) -> None:
    shown.locator("[name=email]").fill("nobody@example.com")
    shown.locator("[name=password]").fill("not the password")
    send_empty(shown)


def open_everything(shown: BrowserPage) -> None:
    """All that folds, and one menu: several would lie over each other."""
    shown.evaluate("document.querySelectorAll('details:not(.menu)').forEach(part => { part.open = true; })")
    menu = shown.locator("main details.menu > summary")
    if menu.count():
        menu.first.click()


def open_account_menu(shown: BrowserPage) -> None:
    open_drawer(shown)
    shown.locator(".me summary").click()


def ask_a_question(shown: BrowserPage) -> None:
    shown.locator("textarea[name=question]").fill(QUESTION)
    shown.locator("textarea[name=question]").press("Enter")
    shown.locator(".turn .cite").first.wait_for()


def preview_chunking(shown: BrowserPage) -> None:
    shown.locator("[name=shape][value=manual]").check()
    with shown.expect_navigation():
        shown.locator("[name=preview]").click()
    shown.locator("#preview-h").wait_for()


def choose_documents(shown: BrowserPage) -> None:
    for number in (0, 1):
        shown.locator("input[name=ids]").nth(number).check()


def in_bulk(shown: BrowserPage, action: str) -> None:
    choose_documents(shown)
    with shown.expect_navigation():
        shown.locator(f"[data-bulk-bar] [value={action}]").click()


def delete_documents(shown: BrowserPage) -> None:
    in_bulk(shown, "delete")


def move_documents(shown: BrowserPage) -> None:
    in_bulk(shown, "move")


def edit_metadata(shown: BrowserPage) -> None:
    in_bulk(shown, "metadata")
    shown.locator("[name=add_tags]").fill("draft")
    shown.locator("form.card button.btn-p").click()
    shown.locator("[name=apply]").wait_for()


def change_sharing(shown: BrowserPage) -> None:
    shown.locator("#add").fill("noor")
    shown.locator("#found button").click()
    shown.locator(".chg-new").wait_for()


def expose(shown: BrowserPage) -> None:
    change_sharing(shown)
    shown.locator("#save").click()
    shown.locator("#exposes [name=confirm]").wait_for()


def open_drawer(shown: BrowserPage) -> None:
    """The rail, which is a drawer on phones."""
    opener = shown.locator("[popovertarget=rail]:visible")
    if opener.count():
        opener.first.click()


# Name -> a state of a page that its plain example does not show.
STATES: dict[str, Example] = {
    "400": page("/search?q=x&after=never", status=400),
    "403": page("/system/users", who="reader", status=403),
    "404": page("/nowhere", status=404),
    "404-signed-out": page("/nowhere", who="", status=404),
    "409": page(
        "/search?q=x", status=409, breaks=(("retrieval.views.search.search", raising(Conflict("Changed."))),)
    ),
    "500": page(
        "/search?q=x", status=500, breaks=(("retrieval.views.search.search", raising(ValueError("secret"))),)
    ),
    "503": page(
        "/search?q=x", status=503, breaks=(("retrieval.views.search.search", raising(Unavailable())),)
    ),
    "first_start-ended": page("/first-start/ended", who="", status=410),
    "sign_in-refused": page("/login", who="", act=sign_in_wrongly),
    "empty-ask": page("/", who="newcomer"),
    "empty-search": page("/search?q=pump", who="newcomer"),
    "empty-documents": page("/manage/documents", who="newcomer"),
    "empty-collections": page("/manage/collections", who="newcomer"),
    "empty-tokens": page("/account/tokens", who="newcomer"),
    "search-nothing-typed": page("/search"),
    "search-nothing-found": page("/search?q=zzzqqq"),
    "search-open": page("/search?q=remote+work", act=open_everything),
    "debugger-open": page("/manage/debugger/{compared}?zoom=1&all=1", act=open_everything),
    "debugger-compare": page("/manage/debugger/{trace}?vs={compared}"),
    "reader-debugger": page("/manage/debugger", who="newcomer", status=403),
    "search-faq-answer": page("/search?q=who+waters+the+plants"),
    "empty-faq": page("/manage/collections/{empty}/faq"),
    "reader-faq": page("/manage/collections/{collection}/faq?q=plants", who="reader"),
    "filtered-documents": page("/manage/documents?q=zzzqqq"),
    "answer": page("/", act=ask_a_question),
    "answer-open": page("/c/{conversation}", act=open_everything),
    "refusal": page("/c/{refused}"),
    "stopped-answer": page("/c/{stopped}"),
    "failed-answer": page("/c/{failed_answer}"),
    "withdrawn-answer": page("/c/{withdrawn}"),
    "degraded-answer": page("/c/{degraded}"),
    "source-pdf-as-text": page("/d/{pdf}?view=text"),
    "source-docx": page("/d/{docx}"),
    "source-from-answer": page("/d/{document}?from=1&to=2&cite={message}#passage"),
    "source-other-version": page("/d/{versions}?version=1"),
    "reader-ask": page("/", who="reader"),
    "reader-search": page("/search?q=remote+work", who="reader"),
    "reader-documents": page("/manage/documents", who="reader"),
    "reader-source": page("/d/{document}", who="reader"),
    "document-failed": page("/manage/documents/{failed}"),
    "document-waiting": page("/manage/documents/{waiting}"),
    "document-pdf": page("/manage/documents/{pdf}/chunks?chunk=2"),
    "document-everything": page("/manage/documents/{pdf}/chunks?show=all"),
    "document-corrected": page("/manage/documents/{corrected}/chunks?chunk=1", act=open_everything),
    "collection-chunking-preview": page(
        "/manage/collections/{collection}/chunking?document={document}", act=preview_chunking
    ),
    "document-failed-log": page("/manage/documents/{failed}/log"),
    "document-nothing-found": page("/manage/documents/{document}/chunks?q=zzzqqq"),
    "batch-problems": page("/manage/uploads/{batch}?show=problems"),
    "documents-chosen": page("/manage/documents", act=choose_documents),
    "documents-delete": page("/manage/documents", act=delete_documents),
    "documents-metadata": page("/manage/documents", act=edit_metadata),
    "documents-doubtful": page("/manage/documents?view=doubtful"),
    "documents-move": page("/manage/documents", act=move_documents),
    "upload-of-others": page("/manage/documents/upload", who="newcomer"),
    "empty-library": page("/library", who="newcomer"),
    "empty-conversations": page("/c", who="newcomer"),
    "reader-library": page("/library/{collection}", who="reader"),
    "sharing-changed": page("/manage/collections/{collection}/sharing", act=change_sharing),
    "sharing-exposes": page("/manage/collections/{collection}/sharing", act=expose),
    "documents-open": page("/manage/documents", act=open_everything),
    "drawer": page("/", act=open_drawer),
    "account-menu": page("/account", who="reader", act=open_account_menu),
    "audit-open": page("/system/audit", act=open_everything),
    "mistakes-user": page("/system/users/new", act=send_empty),
    "mistakes-group": page("/system/groups/new", act=send_empty),
    "mistakes-token": page("/account/tokens/new", act=send_empty),
    "mistakes-password": page("/account", act=send_empty),
    "mistakes-collection": page("/manage/collections/new", act=send_empty),
    "mistakes-delete": page("/manage/collections/{empty}/delete", act=send_empty),
}


def stand_ins(example: Example) -> list:
    return [patch(name, new) for name, new in example.breaks]
