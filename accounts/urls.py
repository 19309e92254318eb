"""Pages of accounts."""

from django.urls import path

from accounts.views import account, audit, people, session

urlpatterns = [
    path("login", session.sign_in, name="sign_in"),
    path("session/extend", session.session_extend, name="session_extend"),
    path("logout", session.sign_out, name="sign_out"),
    path("first-start/<str:key>", session.first_start, name="first_start"),
    path("new-password/<str:key>", session.new_password, name="new_password"),
    path("account", account.account, name="account"),
    path("account/password", account.password, name="account_password"),
    path("account/sessions/end", account.sessions_end, name="sessions_end"),
    path("account/tokens", account.tokens, name="tokens"),
    path("account/tokens/new", account.token_new, name="token_new"),
    path("account/tokens/<str:token>/revoke", account.token_revoke, name="token_revoke"),
    path("system/users", people.users, name="users"),
    path("system/users/new", people.user_new, name="user_new"),
    path("system/users/<str:user>", people.user, name="user"),
    path("system/users/<str:user>/password-link", people.user_password_link, name="user_password_link"),
    path("system/users/<str:user>/deactivate", people.user_deactivate, name="user_deactivate"),
    path("system/users/<str:user>/activate", people.user_activate, name="user_activate"),
    path("system/groups", people.groups, name="groups"),
    path("system/groups/new", people.group_new, name="group_new"),
    path("system/groups/<str:group>", people.group, name="group"),
    path("system/groups/<str:group>/rename", people.group_rename, name="group_rename"),
    path("system/groups/<str:group>/add", people.group_add, name="group_add"),
    path("system/groups/<str:group>/remove", people.group_remove, name="group_remove"),
    path("system/groups/<str:group>/delete", people.group_delete, name="group_delete"),
    path("system/audit", audit.audit, name="audit"),
    path("system/audit/export", audit.audit_export, name="audit_export"),
]
