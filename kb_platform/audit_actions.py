"""What every audited action is called, and the group that the log can be filtered by."""

from dataclasses import dataclass

from django.utils.translation import gettext_lazy as _
from django_stubs_ext import StrOrPromise


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionGroup:
    key: str
    label: StrOrPromise
    actions: dict[str, StrOrPromise]


GROUPS = (
    ActionGroup(
        key="access",
        label=_("Access"),
        actions={
            "grants.replaced": _("Changed access"),
            "scope.created": _("Made an access list"),
            "scope.handed_over": _("Handed over to Administrators"),
            "document.follows_collection": _("Let the document follow its collection"),
            "search.run_as": _("Searched with somebody’s rights"),
        },
    ),
    ActionGroup(
        key="documents",
        label=_("Documents"),
        actions={
            "document.uploaded": _("Uploaded a document"),
            "document.updated": _("Changed a document"),
            "document.reparsed": _("Read a document again"),
            "document.moved": _("Moved a document"),
            "document.archived": _("Archived a document"),
            "document.owner_changed": _("Changed a document’s owner"),
            "document.version_restored": _("Restored a version"),
            "document.restored": _("Brought a document back from the archive"),
            "document.undeleted": _("Brought a document back from the trash"),
            "document.purged": _("Removed a document for good"),
            "upload.opened": _("Began an upload"),
            "document.deleted": _("Deleted a document"),
            "chunk.corrected": _("Corrected a passage"),
            "chunk.excluded": _("Left a passage out"),
            "chunk.split": _("Split a passage"),
            "chunk.merged": _("Joined two passages"),
            "chunk.correction_undone": _("Undid a correction"),
            "faq.added": _("Added a question with its answer"),
            "faq.changed": _("Changed a question or its answer"),
            "job.cancelled": _("Cancelled processing"),
            "job.retried": _("Tried processing again"),
            "jobs.retried": _("Tried failed files again"),
        },
    ),
    ActionGroup(
        key="collections",
        label=_("Collections"),
        actions={
            "collection.created": _("Made a collection"),
            "collection.updated": _("Changed a collection"),
            "collection.chunking_changed": _("Changed how documents are cut"),
            "collection.deleted": _("Deleted a collection"),
            "collection.field_added": _("Added a metadata field"),
            "collection.field_changed": _("Changed a metadata field"),
            "collection.field_removed": _("Removed a metadata field"),
            "collection.field_restored": _("Brought a metadata field back"),
        },
    ),
    ActionGroup(
        key="dictionary",
        label=_("Dictionary"),
        actions={
            "dictionary.term_added": _("Added a term"),
            "dictionary.term_changed": _("Changed a term"),
            "dictionary.term_removed": _("Removed a term"),
            "dictionary.term_imported": _("Imported terms"),
            "dictionary.synonyms_added": _("Added synonyms"),
            "dictionary.synonyms_changed": _("Changed synonyms"),
            "dictionary.synonyms_removed": _("Removed synonyms"),
            "dictionary.synonyms_imported": _("Imported synonyms"),
            "dictionary.stop_word_added": _("Added a stop word"),
            "dictionary.stop_word_changed": _("Changed a stop word"),
            "dictionary.stop_word_removed": _("Removed a stop word"),
            "dictionary.stop_word_imported": _("Imported stop words"),
        },
    ),
    ActionGroup(
        key="people",
        label=_("People and groups"),
        actions={
            "user.created": _("Added an account"),
            "user.updated": _("Changed an account"),
            "profile.updated": _("Changed the own profile"),
            "group.created": _("Made a group"),
            "group.renamed": _("Renamed a group"),
            "group.members_set": _("Changed members"),
            "group.deleted": _("Deleted a group"),
        },
    ),
    ActionGroup(
        key="sign_in",
        label=_("Sign-in"),
        actions={
            "user.signed_in": _("Signed in"),
            "password.changed": _("Changed the own password"),
            "password_link.created": _("Made a link for a new password"),
            "password_link.used": _("Set a new password by link"),
            "sessions.ended": _("Signed out everywhere else"),
            "setup_link.used": _("Made the first administrator"),
        },
    ),
    ActionGroup(
        key="tokens",
        label=_("API tokens"),
        actions={
            "token.created": _("Made a token"),
            "token.revoked": _("Revoked a token"),
        },
    ),
    ActionGroup(
        key="settings",
        label=_("Settings"),
        actions={
            "setting.changed": _("Changed a setting"),
            "source.created": _("Added an external source"),
            "source.updated": _("Changed an external source"),
            "source.switched_on": _("Switched an external source on"),
            "source.switched_off": _("Switched an external source off"),
            "source.deleted": _("Removed an external source"),
            "audit.exported": _("Exported the audit log"),
            "conversations.deleted": _("Deleted the own chats"),
            "case.created": _("Saved a test case"),
            "case.deleted": _("Deleted a test case"),
        },
    ),
)
NAMES: dict[str, StrOrPromise] = {code: name for group in GROUPS for code, name in group.actions.items()}


def action_name(code: str) -> str:
    """The phrase for an action, or its code for one of an older release."""
    return str(NAMES.get(code, code))


def actions_of(group: str) -> list[str]:
    """The codes of a group; none for one that does not exist."""
    return [code for one in GROUPS if one.key == group for code in one.actions]
