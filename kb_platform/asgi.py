"""ASGI entry point. The embedder is loaded in the background at start, so that the first search does not wait for it."""

import os
import threading

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kb_platform.settings.production")

from django.core.asgi import get_asgi_application

application = get_asgi_application()


def _warm_up() -> None:
    from django.utils.module_loading import import_string

    import_string("retrieval.warmup.warm_up")()


threading.Thread(target=_warm_up, name="warm-up", daemon=True).start()
