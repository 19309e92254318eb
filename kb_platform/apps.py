from django.apps import AppConfig


class PlatformConfig(AppConfig):
    name = "kb_platform"
    verbose_name = "Platform"

    def ready(self) -> None:
        # the Celery application makes itself the current one, which `jobs.enqueue` sends through
        from kb_platform import celery, checks  # noqa: F401
