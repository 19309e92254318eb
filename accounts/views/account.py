"""One's own account: name, language, appearance, password, and API tokens."""

from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.forms import PasswordForm, ProfileForm, TokenForm, show
from accounts.models import User
from accounts.principals import principal_on
from accounts.selectors import all_tokens, find_token, open_collections, role_name, tokens_of
from accounts.services import change_password, end_other_sessions, update_profile
from accounts.tokens import create_token, revoke_token
from accounts.values import UserChanges
from kb_platform.errors import InvalidInput
from kb_platform.policies import Access, policy
from kb_platform.toasts import toast

PAGE_SIZE = 50


def _account_page(
    request: HttpRequest, *, profile: ProfileForm | None = None, password: PasswordForm | None = None
) -> HttpResponse:
    user = User.objects.get(pk=principal_on(request).user_id)
    forms = {"profile": profile or ProfileForm(user=user), "password": password or PasswordForm()}
    refused = any(form.errors for form in forms.values())
    context = {**forms, "account": user, "role": role_name(user)}
    return render(request, "accounts/account.html", context, status=400 if refused else 200)


@policy(Access.SIGNED_IN)
@require_http_methods(["GET", "HEAD", "POST"])
def account(request: HttpRequest) -> HttpResponse:
    if request.method != "POST":
        return _account_page(request)
    form = ProfileForm(request.POST, user=User.objects.get(pk=principal_on(request).user_id))
    if form.is_valid():
        try:
            user = update_profile(actor=principal_on(request), changes=UserChanges(**form.cleaned_data))
        except InvalidInput as error:
            show(form, error)
        else:
            if user.language:
                translation.activate(user.language)
            toast(request, _("Saved."))
            return redirect("account")
    return _account_page(request, profile=form)


@policy(Access.SIGNED_IN)
@sensitive_post_parameters()
@require_POST
def password(request: HttpRequest) -> HttpResponse:
    """Change the password; this session goes on, all others end."""
    form = PasswordForm(request.POST)
    if form.is_valid():
        try:
            user = change_password(
                actor=principal_on(request),
                current=form.cleaned_data["current"],
                chosen=form.cleaned_data["password"],
            )
        except InvalidInput as error:
            show(form, error)
        else:
            update_session_auth_hash(request, user)
            messages.success(request, _("The password is changed. Your other sessions have ended."))
            return redirect("account")
    return _account_page(request, password=form)


@policy(Access.SIGNED_IN)
@require_POST
def sessions_end(request: HttpRequest) -> HttpResponse:
    """Sign out everywhere but here."""
    count = end_other_sessions(actor=principal_on(request), keep=request.session.session_key)
    text = ngettext("%(n)d other session ended.", "%(n)d other sessions ended.", count)
    toast(request, text % {"n": count})
    return redirect("account")


@policy(Access.SIGNED_IN)
@require_safe
def tokens(request: HttpRequest) -> HttpResponse:
    """One's own; administrators see everybody's with `?all=1`, never the secret."""
    principal = principal_on(request)
    everybody = principal.is_administrator and bool(request.GET.get("all"))
    rows = all_tokens() if everybody else tokens_of(principal)
    seen = {row.scope_id: row.name for row in open_collections(User.objects.get(pk=principal.user_id))}
    page = Paginator(rows, PAGE_SIZE).get_page(request.GET.get("page"))
    shown = [
        {
            "token": token,
            "limits": [seen[scope] for scope in token.collections if scope in seen],
            "hidden": sum(scope not in seen for scope in token.collections),
        }
        for token in page
    ]
    context = {
        "page": page,
        "rows": shown,
        "everybody": everybody,
        "mine": tokens_of(principal).count(),
        "all": all_tokens().count() if principal.is_administrator else 0,
    }
    return render(request, "accounts/tokens.html", context)


@policy(Access.SIGNED_IN)
@require_http_methods(["GET", "HEAD", "POST"])
def token_new(request: HttpRequest) -> HttpResponse:
    """Make a token and show it, this once, in the answer to the form."""
    principal = principal_on(request)
    user = User.objects.get(pk=principal.user_id)
    form = TokenForm(request.POST or None, user=user)
    if form.is_valid():
        try:
            token, text = create_token(actor=principal, user=user, **form.cleaned_data)
        except InvalidInput as error:
            show(form, error)
        else:
            names = {row.scope_id: row.name for row in open_collections(user)}
            limits = [names[scope] for scope in token.collections]
            return render(
                request, "accounts/token_created.html", {"token": token, "text": text, "limits": limits}
            )
    return render(request, "accounts/token_new.html", {"form": form}, status=400 if form.errors else 200)


@policy(Access.OBJECT)
@require_http_methods(["GET", "HEAD", "POST"])
def token_revoke(request: HttpRequest, token: str) -> HttpResponse:
    row = find_token(principal_on(request), token)
    if request.method == "POST":
        revoke_token(actor=principal_on(request), token_id=row.pk)
        messages.success(request, _("The token is revoked."))
        return redirect("tokens")
    return render(request, "accounts/token_revoke.html", {"token": row})
