"""Settings of a running site."""

from kb_platform.settings.base import *  # noqa: F403
