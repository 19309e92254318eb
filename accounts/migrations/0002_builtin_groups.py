"""The two groups the product keeps itself."""

from django.db import migrations


def make_groups(apps, schema_editor):
    Group = apps.get_model("auth", "Group")
    BuiltinGroup = apps.get_model("accounts", "BuiltinGroup")
    for role, name in (("all_staff", "All staff"), ("administrators", "Administrators")):
        group, _ = Group.objects.get_or_create(name=name)
        BuiltinGroup.objects.get_or_create(role=role, defaults={"group": group})


class Migration(migrations.Migration):
    dependencies = [("accounts", "0001_initial")]
    operations = [migrations.RunPython(make_groups, migrations.RunPython.noop)]
