"""People and groups, for administrators."""

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts import selectors, services
from accounts.forms import GroupForm, MembersForm, UserForm, show
from accounts.models import User
from accounts.password_links import make_link
from accounts.permissions.openings import opened_counts, openings_of, openings_of_group
from accounts.principals import principal_on
from accounts.values import UserChanges
from kb_platform.errors import Conflict, InvalidInput
from kb_platform.policies import Access, policy

PAGE_SIZE = 50
STATES = ("active", "deactivated")
GET_OR_POST = ["GET", "HEAD", "POST"]


@policy(Access.ADMINISTRATOR)
@require_safe
def users(request: HttpRequest) -> HttpResponse:
    words = request.GET.get("q", "").strip().replace("\x00", "")
    state = request.GET.get("state", "")
    found = selectors.people()
    if state in STATES:
        found = found.filter(is_active=state == "active")
    if words:
        found = found.filter(_called(words))
    page = Paginator(found, PAGE_SIZE).get_page(request.GET.get("page"))
    return render(request, "accounts/users.html", {"page": page, "q": words, "state": state})


def _called(words: str) -> Q:
    """People by name, address, or the name of one of their groups."""
    in_group = User.groups.through.objects.filter(group__name__icontains=words).values("user_id")
    return Q(name__icontains=words) | Q(email__icontains=words) | Q(pk__in=in_group)


@policy(Access.ADMINISTRATOR)
@sensitive_post_parameters("password")
@require_http_methods(GET_OR_POST)
def user_new(request: HttpRequest) -> HttpResponse:
    form = UserForm(request.POST or None)
    if form.is_valid():
        try:
            user = services.create_user(
                actor=principal_on(request),
                email=form.cleaned_data["email"],
                name=form.cleaned_data["name"],
                password=form.cleaned_data["password"] or None,
                groups=form.cleaned_data["groups"],
            )
        except InvalidInput as error:
            show(form, error)
        else:
            messages.success(request, _("The account of %(name)s is made.") % {"name": user})
            return redirect("user", user.pk)
    return render(request, "accounts/user_new.html", {"form": form}, status=400 if form.errors else 200)


@policy(Access.ADMINISTRATOR)
@sensitive_post_parameters("password")
@require_http_methods(GET_OR_POST)
def user(request: HttpRequest, user: str) -> HttpResponse:
    person = selectors.find_user(user)
    form = UserForm(request.POST or None, user=person)
    if form.is_valid():
        changes = UserChanges(
            email=form.cleaned_data["email"],
            name=form.cleaned_data["name"],
            password=form.cleaned_data["password"] or None,
            groups=frozenset(form.cleaned_data["groups"]),
        )
        try:
            services.update_user(actor=principal_on(request), user=person, changes=changes)
        except (InvalidInput, Conflict) as error:
            show(form, error)
        else:
            messages.success(request, _("Saved."))
            return redirect("user", person.pk)
    found = openings_of(person)
    context = {
        "form": form,
        "person": person,
        "role": selectors.role_name(person),
        "collections": [opening for opening in found if opening.name],
        "single": sum(opening.documents for opening in found if not opening.name),
        "documents": sum(opening.documents for opening in found),
    }
    return render(request, "accounts/user.html", context, status=400 if form.errors else 200)


@policy(Access.ADMINISTRATOR)
@require_http_methods(GET_OR_POST)
def user_deactivate(request: HttpRequest, user: str) -> HttpResponse:
    person = selectors.find_user(user)
    if request.method != "POST":
        return render(request, "accounts/user_deactivate.html", {"person": person})
    services.deactivate_user(actor=principal_on(request), user=person)
    messages.success(request, _("%(name)s is signed out everywhere.") % {"name": person})
    return redirect("user", person.pk)


@policy(Access.ADMINISTRATOR)
@require_POST
def user_password_link(request: HttpRequest, user: str) -> HttpResponse:
    """Make a link for a new password and show it, this once."""
    person = selectors.find_user(user)
    key = make_link(actor=principal_on(request), user=person)
    address = request.build_absolute_uri(reverse("new_password", args=[key]))
    return render(request, "accounts/password_link.html", {"person": person, "address": address})


@policy(Access.ADMINISTRATOR)
@require_POST
def user_activate(request: HttpRequest, user: str) -> HttpResponse:
    person = selectors.find_user(user)
    services.update_user(actor=principal_on(request), user=person, changes=UserChanges(is_active=True))
    messages.success(request, _("%(name)s may sign in again.") % {"name": person})
    return redirect("user", person.pk)


@policy(Access.ADMINISTRATOR)
@require_safe
def groups(request: HttpRequest) -> HttpResponse:
    words = request.GET.get("q", "").strip().replace("\x00", "")
    found = selectors.groups()
    if words:
        found = found.filter(name__icontains=words)
    page = Paginator(found, PAGE_SIZE).get_page(request.GET.get("page"))
    opened = opened_counts(page.object_list)
    rows = [{"group": group, "opens": opened.get(group.pk, 0)} for group in page]
    return render(request, "accounts/groups.html", {"page": page, "rows": rows, "q": words})


@policy(Access.ADMINISTRATOR)
@require_http_methods(GET_OR_POST)
def group_new(request: HttpRequest) -> HttpResponse:
    form = GroupForm(request.POST or None)
    if form.is_valid():
        try:
            group = services.create_group(actor=principal_on(request), name=form.cleaned_data["name"])
        except InvalidInput as error:
            show(form, error)
        else:
            return redirect("group", group.pk)
    return render(request, "accounts/group_new.html", {"form": form}, status=400 if form.errors else 200)


@policy(Access.ADMINISTRATOR)
@require_safe
def group(request: HttpRequest, group: str) -> HttpResponse:
    return _group_page(request, group)


def _group_page(
    request: HttpRequest, key: str, *, rename: GroupForm | None = None, add: MembersForm | None = None
) -> HttpResponse:
    row = selectors.find_group(key)
    members = selectors.people().filter(groups=row)
    forms = {"rename": rename or GroupForm(group=row), "add": add or MembersForm()}
    context = {
        **forms,
        "group": row,
        "is_everybody": row == selectors.all_staff(),
        "openings": [opening for opening in openings_of_group(row) if opening.name],
        "page": Paginator(members, PAGE_SIZE).get_page(request.GET.get("page")),
    }
    refused = any(form.errors for form in forms.values())
    return render(request, "accounts/group.html", context, status=400 if refused else 200)


@policy(Access.ADMINISTRATOR)
@require_POST
def group_rename(request: HttpRequest, group: str) -> HttpResponse:
    row = selectors.find_group(group)
    form = GroupForm(request.POST)
    if form.is_valid():
        try:
            services.rename_group(actor=principal_on(request), group=row, name=form.cleaned_data["name"])
        except InvalidInput as error:
            show(form, error)
        else:
            return redirect("group", row.pk)
    return _group_page(request, group, rename=form)


@policy(Access.ADMINISTRATOR)
@require_POST
def group_add(request: HttpRequest, group: str) -> HttpResponse:
    row = selectors.find_group(group)
    form = MembersForm(request.POST)
    if form.is_valid():
        services.change_members(actor=principal_on(request), group=row, add=form.cleaned_data["emails"])
        return redirect("group", row.pk)
    return _group_page(request, group, add=form)


@policy(Access.ADMINISTRATOR)
@require_POST
def group_remove(request: HttpRequest, group: str) -> HttpResponse:
    row = selectors.find_group(group)
    person = selectors.find_user(request.POST.get("user", ""))
    services.change_members(actor=principal_on(request), group=row, remove=[person.pk])
    return redirect("group", row.pk)


@policy(Access.ADMINISTRATOR)
@require_http_methods(GET_OR_POST)
def group_delete(request: HttpRequest, group: str) -> HttpResponse:
    row = selectors.find_group(group)
    if request.method != "POST":
        return render(request, "accounts/group_delete.html", {"group": row})
    services.delete_group(actor=principal_on(request), group=row)
    messages.success(request, _("The group is deleted."))
    return redirect("groups")
