"""Versions that were read before verdicts were kept get theirs from the counts stored with them."""

from django.db import migrations
from django.db.models import Q

BATCH = 500


def judge_versions(apps, _schema_editor):
    from ingestion.quality import NO_TEXT, judge

    Version = apps.get_model("ingestion", "DocumentVersion")
    read = Q(reason_code__in=NO_TEXT) | Q(quality__characters__gt=0)
    judged = []
    for version in Version.objects.filter(read).only("quality", "reason_code").iterator(chunk_size=BATCH):
        judgement = judge(version.quality or {}, reason_code=version.reason_code)
        version.verdict, version.read_share = judgement.verdict, judgement.share
        judged.append(version)
        if len(judged) == BATCH:
            Version.objects.bulk_update(judged, ["verdict", "read_share"])
            judged = []
    Version.objects.bulk_update(judged, ["verdict", "read_share"])


class Migration(migrations.Migration):
    dependencies = [("ingestion", "0008_quality_and_fields")]

    operations = [migrations.RunPython(judge_versions, migrations.RunPython.noop)]
