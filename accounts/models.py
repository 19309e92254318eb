"""People, groups, and the grants that open an access scope to them.

A grant is a row of guardian's direct-foreign-key tables with two columns more. Rights are read by
`accounts.visibility`, never by `has_perm`: guardian knows nothing of `expires_at`.
"""

import uuid
from typing import Any, ClassVar

from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.models import Group, PermissionsMixin
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from guardian.managers import GroupObjectPermissionManager, UserObjectPermissionManager
from guardian.models import GroupObjectPermissionBase, UserObjectPermissionBase


class UserManager(BaseUserManager["User"]):
    use_in_migrations = True

    def create_user(self, email: str, password: str | None = None, **fields: Any) -> "User":
        user = self.model(email=self.normalize_email(email).lower(), **fields)
        user.set_password(password)  # None makes it unusable
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> "User":
        return self.create_user(email, password, is_superuser=True, **fields)


class User(AbstractBaseUser, PermissionsMixin):  # type: ignore[django-manager-missing]
    class Theme(models.TextChoices):
        AUTO = "auto", _("Auto")
        LIGHT = "light", _("Light")
        DARK = "dark", _("Dark")

    email = models.EmailField(_("e-mail"), unique=True)
    name = models.CharField(_("name"), max_length=200, blank=True)
    is_active = models.BooleanField(_("active"), default=True)
    language = models.CharField(_("language"), max_length=10, choices=settings.LANGUAGES, blank=True)
    theme = models.CharField(_("appearance"), max_length=5, choices=Theme.choices, default=Theme.AUTO)
    letter_shortcuts = models.BooleanField(_("single-letter shortcuts"), default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects: ClassVar[UserManager] = UserManager()
    USERNAME_FIELD = EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    def __str__(self) -> str:
        return self.name or self.email


class BuiltinGroup(models.Model):
    """Marks the groups that the product itself keeps: everyone, and the administrators."""

    class Role(models.TextChoices):
        ALL_STAFF = "all_staff", _("All staff")
        ADMINISTRATORS = "administrators", _("Administrators")

    role = models.CharField(max_length=20, choices=Role.choices, unique=True)
    group = models.OneToOneField(Group, on_delete=models.PROTECT, related_name="builtin")

    def __str__(self) -> str:
        return self.get_role_display()


class AccessScope(models.Model):  # type: ignore[django-manager-missing]
    """The unit of sharing. Every collection has one; a document follows its collection or has its own."""

    id = models.AutoField(primary_key=True)  # an int: index rows carry it
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        default_permissions = ()
        permissions = [("view", "Can view"), ("contribute", "Can contribute"), ("manage", "Can manage")]

    def __str__(self) -> str:
        return f"scope {self.pk}"


class Grant(models.Model):
    granted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    granted_at = models.DateTimeField(auto_now_add=True, null=True)
    expires_at = models.DateTimeField(null=True)

    class Meta:
        abstract = True


class UserScopeGrant(Grant, UserObjectPermissionBase):
    content_object = models.ForeignKey(AccessScope, on_delete=models.CASCADE, related_name="user_grants")

    objects: ClassVar[models.Manager["UserScopeGrant"]] = UserObjectPermissionManager()

    class Meta(UserObjectPermissionBase.Meta):
        abstract = False
        indexes = [
            models.Index(
                fields=["user", "permission", "expires_at", "content_object"], name="user_grant_visible"
            )
        ]

    def __str__(self) -> str:
        return f"{self.user}: {self.permission.codename}"


class GroupScopeGrant(Grant, GroupObjectPermissionBase):
    content_object = models.ForeignKey(AccessScope, on_delete=models.CASCADE, related_name="group_grants")

    objects: ClassVar[models.Manager["GroupScopeGrant"]] = GroupObjectPermissionManager()

    class Meta(GroupObjectPermissionBase.Meta):
        abstract = False
        indexes = [
            models.Index(
                fields=["group", "permission", "expires_at", "content_object"], name="group_grant_visible"
            )
        ]

    def __str__(self) -> str:
        return f"{self.group}: {self.permission.codename}"


class ApiToken(models.Model):
    """`kb_<key>_<secret>`: the key finds the row, only a SHA-256 of the 256-bit secret is kept."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=100)
    key = models.CharField(max_length=16, unique=True)
    secret_hash = models.CharField(max_length=64)
    scopes = ArrayField(models.CharField(max_length=20))
    collections = ArrayField(
        models.IntegerField(), default=list, help_text="Access scope ids; empty: all its owner sees"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return self.name

    @property
    def has_ended(self) -> bool:
        return self.expires_at <= timezone.now()


class SetupLink(models.Model):
    """The one-time link that makes the first administrator. Only a hash of its key is kept."""

    key_hash = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"link of {self.created_at:%Y-%m-%d %H:%M}"


class PasswordLink(models.Model):
    """The one-time link that sets a new password. Only a hash of its key is kept; a used link is deleted."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    key_hash = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"link for {self.user}"


class SignInFailure(models.Model):
    """Failed attempts, counted per address and account to slow down guessing."""

    email = models.CharField(max_length=254)
    address = models.CharField(max_length=64, blank=True)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [
            models.Index(fields=["email", "at"], name="failure_email"),
            models.Index(fields=["address", "at"], name="failure_address"),
        ]

    def __str__(self) -> str:
        return f"{self.email} {self.at:%Y-%m-%d %H:%M:%S}"


def new_uid() -> uuid.UUID:
    """The public, opaque id of a thing: random, so that it tells neither age nor number."""
    return uuid.uuid4()
