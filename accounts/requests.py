"""The request as page views of signed-in people get it, for type checkers only: middleware puts these on it."""

from django.http import HttpRequest
from django_htmx.middleware import HtmxDetails

from accounts.values import Principal


class PageRequest(HttpRequest):
    principal: Principal
    htmx: HtmxDetails
