"""API routes of retrieval."""

from django.urls import path

from retrieval import api, api_sources

urlpatterns = [
    path("sources", api_sources.SourcesView.as_view(), name="api_sources"),
    path("sources/<str:uid>", api_sources.SourceView.as_view(), name="api_source"),
    path("sources/<str:uid>/try", api_sources.SourceTryView.as_view(), name="api_source_try"),
    path("search", api.SearchView.as_view(), name="api_search"),
    path("chat", api.ChatView.as_view(), name="api_chat"),
    path("messages/<str:uid>/feedback", api.FeedbackView.as_view(), name="api_feedback"),
    path("messages/<str:uid>/stream", api.MessageStreamView.as_view(), name="api_message_stream"),
    path("messages/<str:uid>/stop", api.MessageStopView.as_view(), name="api_message_stop"),
    path("conversations", api.ConversationsView.as_view(), name="api_conversations"),
    path("conversations/<str:uid>", api.ConversationView.as_view(), name="api_conversation"),
    path("traces/<str:trace_id>", api.TraceView.as_view(), name="api_trace"),
]
