"""Raw speed of the configured embedder on synthetic text: one JSON object on standard output.

Run as `python -m benchmarks.embedder` from the project folder.
"""

import json
import os
import random
import resource
import statistics
import time
from pathlib import Path

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kb_platform.settings.production")

WORDS = [
    "the",
    "pump",
    "valve",
    "pressure",
    "must",
    "be",
    "checked",
    "every",
    "week",
    "before",
    "a",
    "shift",
    "and",
    "noted",
    "in",
    "the",
    "report",
    "by",
    "staff",
]
CHARACTERS = "设备检修记录每周必须由值班人员在交接之前核对并登记压力阀门温度安全操作规程公司员工审批流程"


def english(words: int, rng: random.Random) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(words)) + "."


def chinese(characters: int, rng: random.Random) -> str:
    return "".join(rng.choice(CHARACTERS) for _ in range(characters)) + "。"


def speed(embedder: object, texts: list[str]) -> dict[str, float]:
    embedder.embed_documents(texts[:8])
    wall, cpu = time.perf_counter(), time.process_time()
    embedder.embed_documents(texts)
    return {
        "mean_tokens": round(statistics.fmean(embedder.count_tokens_batch(texts)), 1),
        "texts_per_s": round(len(texts) / (time.perf_counter() - wall), 1),
        "texts_per_cpu_s": round(len(texts) / (time.process_time() - cpu), 1),
    }


def query_times_ms(embedder: object, queries: list[str]) -> dict[str, float]:
    times = []
    for query in queries:
        started = time.perf_counter()
        embedder.embed_query(query)
        times.append((time.perf_counter() - started) * 1000)
    times.sort()
    return {"p50": round(times[len(times) // 2], 1), "p95": round(times[int(len(times) * 0.95)], 1)}


def resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return round(pages * resource.getpagesize() / 1e6, 0)


def main() -> None:
    django.setup()
    from ingestion.embedding.registry import get_embedder

    rng = random.Random(7)
    started = time.perf_counter()
    embedder = get_embedder()
    result = {"load_s": round(time.perf_counter() - started, 2), "resident_loaded_mb": resident_mb()}
    result["en_short"] = speed(embedder, [english(85, rng) for _ in range(80)])
    result["en_long"] = speed(embedder, [english(165, rng) for _ in range(80)])
    result["zh_short"] = speed(embedder, [chinese(110, rng) for _ in range(80)])
    result["zh_long"] = speed(embedder, [chinese(210, rng) for _ in range(80)])
    result["query_ms"] = query_times_ms(embedder, [english(9, rng) for _ in range(60)])
    result["resident_after_mb"] = resident_mb()
    result["peak_mb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000, 0)
    result["embedder"], result["threads"] = embedder.fingerprint, django.conf.settings.EMBEDDER_THREADS
    print(json.dumps(result, ensure_ascii=False, indent=2))


if __name__ == "__main__":
    main()
