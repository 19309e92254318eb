"""From the bundled weights to a folder that onnxruntime can run, once for each data folder.

The folder appears whole or not at all, and two processes that need it at the same time convert it once. The work
runs in a child process, so that its memory and its libraries never stay in the caller.
"""

import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ingestion.embedding.errors import EmbedderUnavailable
from ingestion.embedding.weights import SHA256

NETWORK, TOKENIZER, MANIFEST = "model.onnx", "tokenizer.json", "manifest.json"
REVISION = 2  # raise with every change of the converted files: it names the folder
VECTORS_REVISION = (
    1  # raise only if a text's vector changes: it enters the fingerprint, and every index is made anew
)
FOLDER = f"e5-small-{SHA256[:8]}-{REVISION}"
_TIME_LIMIT_S = 600
_PROJECT = Path(__file__).resolve().parents[2]


def ensure_converted(model_dir: Path) -> Path:
    """The folder of the converted model under `model_dir`, made now if it is missing or incomplete.

    Raises EmbedderUnavailable if the weights are missing or the conversion fails.
    """
    folder = model_dir / FOLDER
    if is_complete(folder):
        return folder
    try:
        model_dir.mkdir(parents=True, exist_ok=True)
        with _only_one(model_dir / f".{FOLDER}.lock"):
            if not is_complete(folder):
                _convert_aside(folder)
    except OSError as error:
        raise EmbedderUnavailable(f"{model_dir} cannot be written: {error.strerror}") from error
    return folder


def is_complete(folder: Path) -> bool:
    """Every file that the manifest lists is there in its full size."""
    try:
        sizes = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        return all((folder / name).stat().st_size == size for name, size in sizes.items())
    except (OSError, ValueError, AttributeError):
        return False


def convert(folder: Path) -> None:
    """Write network, tokenizer and manifest into an existing folder."""
    from ingestion.embedding.network import write_network  # heavy: only the child imports these
    from ingestion.embedding.weights import bundled_path, read_weights
    from ingestion.embedding.wordpieces import write_tokenizer

    weights = read_weights(bundled_path())
    write_network(weights, folder / NETWORK)
    write_tokenizer(weights.vocabulary, folder / TOKENIZER)
    sizes = {name: (folder / name).stat().st_size for name in (NETWORK, TOKENIZER)}
    (folder / MANIFEST).write_text(json.dumps(sizes), encoding="utf-8")


@contextmanager
def _only_one(lock: Path) -> Iterator[None]:
    with lock.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _convert_aside(folder: Path) -> None:
    """Convert into a temporary neighbour, then give it the final name."""
    aside = Path(tempfile.mkdtemp(prefix=f".{FOLDER}.", dir=folder.parent))
    try:
        _run_child(aside)
        _flush_to_disk(aside)
        shutil.rmtree(folder, ignore_errors=True)  # an incomplete one: nobody can be reading it
        aside.rename(folder)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _run_child(target: Path) -> None:
    command = [sys.executable, "-m", "ingestion.embedding.conversion", str(target)]
    try:
        subprocess.run(
            command, cwd=_PROJECT, check=True, capture_output=True, text=True, timeout=_TIME_LIMIT_S
        )
    except subprocess.TimeoutExpired as error:
        raise EmbedderUnavailable(f"converting the embedding model took over {_TIME_LIMIT_S} s") from error
    except subprocess.CalledProcessError as error:
        reason = (error.stderr.strip().splitlines() or ["no message"])[-1]
        raise EmbedderUnavailable(f"the embedding model could not be converted: {reason}") from error


def _flush_to_disk(folder: Path) -> None:
    for path in (*folder.iterdir(), folder):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


if __name__ == "__main__":
    convert(Path(sys.argv[1]))
