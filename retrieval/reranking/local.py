"""A CrossEncoder that the operator put into a folder (KB_RERANKER_MODEL), run by torch on the CPU of this machine.

Nothing is downloaded. The model is loaded by the first question after a start, which may be too late for it; loading goes on.
"""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as LateError
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from django.utils.translation import gettext_lazy as _

from ingestion.embedding.strings import tokenizable
from kb_platform.errors import Unavailable
from kb_platform.inference.rerank import is_score, logistic
from kb_platform.net.errors import Busy, Late

BATCH = 8
MOST_WAITING = 4
_thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="reranker")
_waiting = threading.BoundedSemaphore(MOST_WAITING)


class ModelUnusable(Unavailable):
    code = "model_unusable"
    message = _(
        "The folder holds no CrossEncoder that can be loaded. It must be one of sentence-transformers with one output."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalReranker:
    """folder: what `CrossEncoder.save_pretrained` wrote."""

    folder: Path
    time_cap_s: float

    def scores(self, question: str, passages: Sequence[str]) -> list[float]:
        """Raises ModelUnusable, Late, or Busy when others wait for the model already."""
        if not passages:
            return []
        if not _waiting.acquire(blocking=False):
            raise Busy()
        work = _thread.submit(_score, self.folder, question, list(passages))
        work.add_done_callback(lambda _done: _waiting.release())
        try:
            return work.result(timeout=self.time_cap_s)
        except LateError as error:
            work.cancel()
            raise Late() from error


def _score(folder: Path, question: str, passages: list[str]) -> list[float]:
    model = _load(folder)
    pairs = [(tokenizable(question), tokenizable(passage)) for passage in passages]
    try:
        raw = model.predict(pairs, batch_size=BATCH, show_progress_bar=False, activation_fn=_no_activation())
        scores = [float(score) for score in raw]
    except Exception as error:  # a model may fail in any way
        raise ModelUnusable() from error
    if len(scores) != len(passages) or not all(map(is_score, scores)):
        raise ModelUnusable()
    return [logistic(score) for score in scores]


@cache
def _load(folder: Path) -> Any:
    if not (folder / "config.json").is_file():
        raise ModelUnusable()
    import torch
    from sentence_transformers import CrossEncoder

    try:
        return CrossEncoder(
            str(folder),
            device="cpu",
            local_files_only=True,
            trust_remote_code=False,
            model_kwargs={"dtype": torch.float32},  # half precision is many times slower on CPUs
        )
    except Exception as error:  # the library raises whatever its parts raise
        raise ModelUnusable() from error


def _no_activation() -> Any:
    """Raw logits, whatever the folder says, so that all models come onto one scale."""
    import torch

    return torch.nn.Identity()
