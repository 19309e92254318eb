from django.utils import translation

from accounts.templatetags.audit_log import actor_label, object_label
from kb_platform.models import AuditEntry


def test_parts_of_the_system_and_lists_have_names_in_the_readers_language():
    entry = AuditEntry(
        actor_name="first start", object_type="accessscope", object_id="9", object_name="scope 9"
    )
    with translation.override("zh-hans"):
        assert (actor_label(entry), object_label(entry)) == ("首次启动", "权限列表 9")
    assert actor_label(AuditEntry(actor_name="first start", actor_id=4)) == "first start"
