from django.apps import AppConfig
from django.db.models.signals import post_migrate


class AccountsConfig(AppConfig):
    name = "accounts"
    verbose_name = "Accounts"

    def ready(self) -> None:
        from accounts import schema  # noqa: F401 - registers itself
        from accounts.selectors import restore_builtin_groups

        post_migrate.connect(restore_builtin_groups, sender=self)
