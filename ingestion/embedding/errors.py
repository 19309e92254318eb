"""What stops an embedder from being loaded."""

from django.utils.translation import gettext_lazy as _

from kb_platform.errors import Unavailable


class EmbedderUnavailable(Unavailable):
    """The model cannot be found, read, converted or loaded; the message says what to do."""

    code = "embedder_unavailable"
    message = _("The embedding model cannot be loaded. See the log of the server.")
