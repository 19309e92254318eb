from django.apps import AppConfig


class PlatformConfig(AppConfig):
    name = "kb_platform"
    verbose_name = "Platform"

    def ready(self) -> None:
        from kb_platform import checks  # noqa: F401
