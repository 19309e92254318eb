"""Pages of retrieval."""

from django.urls import path

from retrieval.views import ask, conversations, debugger, library, own_data, reranker, search, source, sources

urlpatterns = [
    path("", ask.ask, name="ask"),
    path("c", conversations.conversations, name="conversations"),
    path("c/<str:uid>", ask.conversation, name="conversation"),
    path("c/<str:uid>/delete", conversations.conversation_delete, name="conversation_delete"),
    path("c/<str:uid>/rename", conversations.conversation_rename, name="conversation_rename"),
    path("account/chats/delete", own_data.conversations_delete_all, name="conversations_delete_all"),
    path("m/<str:uid>", ask.message, name="message"),
    path("m/<str:uid>/feedback", ask.message_feedback, name="message_feedback"),
    path("library", library.library, name="library"),
    path("library/<str:uid>", library.library_collection, name="library_collection"),
    path("manage/sources", sources.external_sources, name="external_sources"),
    path("manage/sources/new", sources.external_source_new, name="external_source_new"),
    path("manage/sources/<str:uid>", sources.external_source, name="external_source"),
    path("manage/sources/<str:uid>/try", sources.external_source_try, name="external_source_try"),
    path("manage/sources/<str:uid>/switch", sources.external_source_switch, name="external_source_switch"),
    path("manage/sources/<str:uid>/delete", sources.external_source_delete, name="external_source_delete"),
    path("system/settings/models/try", reranker.reranker_try, name="reranker_try"),
    path("search", search.search_page, name="search"),
    path("traces/<str:trace_id>", debugger.why, name="why"),
    path("manage/debugger", debugger.debugger, name="debugger"),
    path("manage/debugger/<str:trace_id>", debugger.debugger_trace, name="debugger_trace"),
    path("manage/debugger/<str:trace_id>/case", debugger.debugger_case, name="debugger_case"),
    path("manage/cases", debugger.evaluation_cases, name="evaluation_cases"),
    path("manage/cases/export", debugger.evaluation_cases_export, name="evaluation_cases_export"),
    path("manage/cases/<str:uid>/delete", debugger.evaluation_case_delete, name="evaluation_case_delete"),
    path("d/<str:uid>", source.source, name="source"),
    path("d/<str:uid>/p/<int:page>", source.source, name="source_page"),
]
