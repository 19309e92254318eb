import subprocess
import sys

from django.conf import settings


def test_every_process_sends_to_the_broker_of_the_settings():
    """Also one that never imported the Celery application itself, such as the web process."""
    code = "import django; django.setup(); from kb_platform import jobs; print(jobs.app.conf.broker_url)"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert printed.stdout.strip() == settings.CELERY_BROKER_URL
