"""Many files through a site that is being killed all the time: one JSON object on standard output, status 1 for a fault.

Run as `python -m benchmarks.faults --kills 500 --files 1000 [--seed N]` from the project folder; it makes a site of its own.
"""

import argparse
import os
import sys

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kb_platform.settings.production")

import django

django.setup()

from ingestion.testing.faults import ADMIN, Storm
from kb_platform.testing.site import sites

VICTIMS = ("child", "backend", "parse", "child", "embed", "flush", "backend", "valkey", "postgres", "web")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--files", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    wanted = parser.parse_args()
    kills = [VICTIMS[number % len(VICTIMS)] for number in range(wanted.kills)]
    with sites(**ADMIN) as start:
        report = Storm(start(), seed=wanted.seed, files=wanted.files, kills=kills).run()
    print(report.as_json())
    return 1 if report.faults or report.extra_parses > report.in_hand else 0


if __name__ == "__main__":
    sys.exit(main())
