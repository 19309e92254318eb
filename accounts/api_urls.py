"""Routes of the API of accounts."""

from django.urls import path

from accounts import api

urlpatterns = [
    path("users", api.UserList.as_view(), name="api_users"),
    path("users/<str:user>", api.UserDetail.as_view(), name="api_user"),
    path("groups", api.GroupList.as_view(), name="api_groups"),
    path("groups/<str:group>", api.GroupDetail.as_view(), name="api_group"),
    path("tokens", api.TokenList.as_view(), name="api_tokens"),
    path("tokens/<str:token>", api.TokenDetail.as_view(), name="api_token"),
    path("me", api.Me.as_view(), name="api_me"),
]
