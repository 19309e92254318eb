"""Signing in and out, and the page of the first administrator."""

from typing import Any
from urllib.parse import quote

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login, logout
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import redirect, render, resolve_url
from django.urls import NoReverseMatch
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from accounts import password_links
from accounts.forms import FirstStartForm, NewPasswordForm, SignInForm, show
from accounts.sessions import limit_session
from accounts.setup import LinkEnded, open_link, use_link
from accounts.sign_in import SignInRefused, TooManyAttempts, check_password
from kb_platform.errors import InvalidInput
from kb_platform.policies import Access, policy
from kb_platform.runtime_config import store
from kb_platform.runtime_config.declarations import SIGN_IN_NOTICE


@policy(Access.PUBLIC)
@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    target = _own_page(request, request.GET.get("next") or request.POST.get("next") or "")
    if request.user.is_authenticated and request.method != "POST":
        return HttpResponseRedirect(target)
    form = SignInForm(request.POST or None)
    status, wait_s = 200, 0
    if form.is_valid():
        try:
            login(request, check_password(request, **form.cleaned_data))
            limit_session(request)
            return HttpResponseRedirect(target)
        except TooManyAttempts as error:
            show(form, error)
            status, wait_s = 429, error.retry_after
        except SignInRefused as error:
            show(form, error)
            status = 400
    context = {"form": form, "next": target, "notice": store.get(SIGN_IN_NOTICE)}
    response = render(request, "accounts/sign_in.html", context, status=status)
    if wait_s:
        response["Retry-After"] = str(wait_s)
    return response


def _own_page(request: HttpRequest, wanted: str) -> str:
    """The page to go to: one of this site, else the start page."""
    if url_has_allowed_host_and_scheme(wanted, {request.get_host()}, request.is_secure()):
        return wanted
    try:
        return resolve_url(settings.LOGIN_REDIRECT_URL)
    except NoReverseMatch:
        return "/"


@policy(Access.SIGNED_IN)
@require_POST
def session_extend(request: HttpRequest) -> HttpResponse:
    """Begin the session's time anew, as somebody who is there asks for it."""
    return JsonResponse({"left_s": limit_session(request)})


@policy(Access.PUBLIC)
@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    logout(request)
    return redirect("sign_in")


@policy(Access.PUBLIC)
@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
def first_start(request: HttpRequest, key: str) -> HttpResponse:
    """Create the first administrator by the one-time link; afterwards the person is signed in."""
    form = FirstStartForm(request.POST or None)
    try:
        link = open_link(key)
        if form.is_valid():
            user = use_link(key, **form.cleaned_data)
            login(request, user, backend=settings.AUTHENTICATION_BACKENDS[0])
            limit_session(request)
            return redirect(_own_page(request, ""))
    except LinkEnded:
        return render(request, "accounts/first_start_expired.html", status=410)
    except InvalidInput as error:
        show(form, error)
    context: dict[str, Any] = {"form": form, "expires_at": link.expires_at, "key": quote(key, safe="")}
    return render(request, "accounts/first_start.html", context, status=400 if form.errors else 200)


@policy(Access.PUBLIC)
@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
def new_password(request: HttpRequest, key: str) -> HttpResponse:
    """Set a new password by the one-time link; afterwards the person signs in with it."""
    form = NewPasswordForm(request.POST or None)
    try:
        link = password_links.open_link(key)
        if form.is_valid():
            password_links.use_link(key, password=form.cleaned_data["password"])
            messages.success(request, _("The new password is set. Sign in with it."))
            return redirect("sign_in")
    except password_links.PasswordLinkEnded:
        return render(request, "accounts/password_link_ended.html", status=410)
    except InvalidInput as error:
        show(form, error)
    context = {"form": form, "person": link.user, "expires_at": link.expires_at}
    return render(request, "accounts/new_password.html", context, status=400 if form.errors else 200)
