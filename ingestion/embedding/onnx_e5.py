"""The bundled embedder: multilingual-e5-small by onnxruntime in int8, centred by language."""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Tokenizer

from ingestion.embedding.centring import LanguageCentring
from ingestion.embedding.conversion import NETWORK, TOKENIZER, VECTORS_REVISION
from ingestion.embedding.errors import EmbedderUnavailable
from ingestion.embedding.protocol import Vectors
from ingestion.embedding.strings import tokenizable
from ingestion.embedding.weights import SHA256

DIMENSION = 384
MAX_TOKENS = 512
BATCH = 8  # larger ones are no faster on CPUs and take twice the memory
RUN_TOKENS = 16  # what one more run of the network costs, in tokens; padding costs as much as text
QUERY_PREFIX, DOCUMENT_PREFIX = "query: ", "passage: "
_PAD = 1
# As `network` names them; importing it takes the library onnx, which only the conversion needs.
INPUT_IDS, ATTENTION_MASK = "input_ids", "attention_mask"
EMBEDDING, TOKEN_STATES = "embedding", "token_states"

TakeStates = Callable[[int, Vectors], None]


class OnnxE5:
    """Embedder over a converted folder. Safe to share between threads, not across fork.

    Activations are quantised by batch, so a text embedded alone and among others agrees to a cosine of .99, not bit for bit.
    """

    dimension = DIMENSION
    max_tokens = MAX_TOKENS

    def __init__(self, folder: Path, *, threads: int, centring: LanguageCentring | None = None) -> None:
        """folder: made by `conversion.ensure_converted`. centring: None for the means that come with the code.

        Raises EmbedderUnavailable if the folder cannot be loaded.

        The network is loaded by the first text that is embedded: processes that only count tokens go without.
        """
        self._folder, self._threads = folder, threads
        self._loading = threading.Lock()
        self._network: onnxruntime.InferenceSession | None = None
        try:
            self._tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
        except Exception as error:  # the library raises bare Exception for an unreadable file
            raise self._unreadable(error) from error
        self._centring = centring or LanguageCentring.bundled()

    def _unreadable(self, error: Exception) -> EmbedderUnavailable:
        return EmbedderUnavailable(f"the model in {self._folder} cannot be loaded: {error}")

    def _session(self) -> onnxruntime.InferenceSession:
        with self._loading:
            if self._network is None:
                try:
                    self._network = onnxruntime.InferenceSession(
                        str(self._folder / NETWORK),
                        _session_options(self._threads),
                        providers=["CPUExecutionProvider"],
                    )
                except Exception as error:  # as above
                    raise self._unreadable(error) from error
            return self._network

    @property
    def fingerprint(self) -> str:
        return (
            f"multilingual-e5-small weights={SHA256[:16]} conversion={VECTORS_REVISION} int8 dim={DIMENSION} "
            f"max={MAX_TOKENS} prefix={QUERY_PREFIX!r},{DOCUMENT_PREFIX!r} pool=mean norm=l2 "
            f"centring={self._centring.factor}*{self._centring.digest}"
        )

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        read = [tokenizable(text, MAX_TOKENS) for text in texts]
        return self._centring.centre(self._embed(DOCUMENT_PREFIX, read), read, "document")

    def embed_by_pieces(self, documents: Sequence[Sequence[str]]) -> tuple[Vectors, list[Vectors]]:
        read = [tokenizable("".join(pieces), MAX_TOKENS) for pieces in documents]
        encodings = self._tokenizer.encode_batch([DOCUMENT_PREFIX + text for text in read])
        sums: dict[int, Vectors] = {}

        def pool(index: int, states: Vectors) -> None:
            offsets = np.array(encodings[index].offsets[: len(states)]) - len(DOCUMENT_PREFIX)
            sums[index] = _sums_by_piece(states, offsets, [len(piece) for piece in documents[index]])

        whole = self._run([_truncated(encoding.ids) for encoding in encodings], pool)
        pieces = [self._centred_pieces(sums[index], documents[index]) for index in range(len(read))]
        return self._centring.centre(whole, read, "document"), pieces

    def _centred_pieces(self, sums: Vectors, pieces: Sequence[str]) -> Vectors:
        """Unit vectors (pieces, dimension) of the sums over each piece's tokens; zero where there are none."""
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        centred = self._centring.centre(sums / np.maximum(lengths, 1e-9), pieces, "document")
        return np.where(lengths > 0, centred, np.float32(0))

    def embed_query(self, text: str) -> Vectors:
        read = [tokenizable(text, MAX_TOKENS)]
        return np.asarray(self._centring.centre(self._embed(QUERY_PREFIX, read), read, "query")[0])

    def raw_cosines(
        self, query: str, query_vector: Vectors, texts: Sequence[str], vectors: Vectors
    ) -> Vectors:
        asked = [tokenizable(query, MAX_TOKENS)]
        read = [tokenizable(text, MAX_TOKENS) for text in texts]
        raw_query = self._centring.restore(query_vector[None, :], asked, "query")[0]
        return np.asarray(self._centring.restore(vectors, read, "document") @ raw_query)

    def count_tokens(self, text: str) -> int:
        return self.count_tokens_batch([text])[0]

    def count_tokens_batch(self, texts: Sequence[str]) -> list[int]:
        return list(map(len, self._tokenize(DOCUMENT_PREFIX, [tokenizable(text) for text in texts])))

    def _tokenize(self, prefix: str, texts: list[str]) -> list[list[int]]:
        encodings = self._tokenizer.encode_batch_fast([prefix + text for text in texts])
        return [encoding.ids for encoding in encodings]

    def _embed(self, prefix: str, texts: list[str]) -> Vectors:
        return self._run([_truncated(ids) for ids in self._tokenize(prefix, texts)])

    def _run(self, tokens: list[list[int]], take_states: TakeStates | None = None) -> Vectors:
        """Unit vectors (n, dimension) of the model itself.

        take_states: is given the states (tokens, dimension) of each text, with its index.
        """
        session = self._session()
        wanted = [EMBEDDING, TOKEN_STATES] if take_states else [EMBEDDING]
        vectors = np.empty((len(tokens), DIMENSION), dtype=np.float32)
        for batch in _batches([len(ids) for ids in tokens]):
            ids, mask = _padded([tokens[index] for index in batch])
            vectors[batch], *states = session.run(wanted, {INPUT_IDS: ids, ATTENTION_MASK: mask})
            if take_states:
                for row, index in enumerate(batch):
                    take_states(index, states[0][row, : len(tokens[index])])
        return vectors


def _session_options(threads: int) -> onnxruntime.SessionOptions:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = (
        False  # an arena keeps the largest batch's memory for good, and is no faster
    )
    options.enable_mem_pattern = False
    options.log_severity_level = 3
    # Without VNNI instructions int8 products overflow 16 bits and spoil the vectors; this takes the exact path there.
    options.add_session_config_entry("session.x64quantprecision", "1")
    return options


def _sums_by_piece(states: Vectors, offsets: NDArray[np.int64], lengths: Sequence[int]) -> Vectors:
    """(pieces, dimension): the sum of the states of each piece's tokens. A token belongs where its middle lies.

    offsets: (tokens, 2), of each token in the text; of tokens that are not of the text they are empty or negative.
    """
    ends = np.cumsum(lengths)
    middles = offsets.mean(axis=1)
    places = np.searchsorted(ends, middles, side="right")
    belongs = (offsets[:, 1] > offsets[:, 0]) & (middles >= 0) & (places < len(lengths))
    sums = np.zeros((len(lengths), states.shape[1]), dtype=np.float32)
    places, firsts = np.unique(places[belongs], return_index=True)  # tokens stand in the order of the text
    if len(places):
        sums[places] = np.add.reduceat(states[belongs], firsts, axis=0)
    return sums


def _batches(lengths: Sequence[int]) -> list[list[int]]:
    """The indices of texts of these lengths, those of like length together, so that runs and padding cost least.

    Few texts of unlike length, as a busy worker gets them, would waste a third on padding in batches of a fixed size.
    """
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    least, begins = [0], [0]  # for the first n texts: their cost, and where the last batch begins
    for end, index in enumerate(order, start=1):
        cost, begin = min(
            (least[begin] + (end - begin) * lengths[index] + RUN_TOKENS, begin)
            for begin in range(max(0, end - BATCH), end)
        )
        least.append(cost)
        begins.append(begin)
    batches, end = [], len(order)
    while end:
        batches.append(order[begins[end] : end])
        end = begins[end]
    return batches


def _truncated(ids: list[int]) -> list[int]:
    return ids if len(ids) <= MAX_TOKENS else [*ids[: MAX_TOKENS - 1], ids[-1]]


def _padded(rows: list[list[int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Ids and mask, int64 (rows, longest)."""
    longest = max(map(len, rows))
    ids = np.full((len(rows), longest), _PAD, dtype=np.int64)
    mask = np.zeros_like(ids)
    for row, tokens in enumerate(rows):
        ids[row, : len(tokens)] = tokens
        mask[row, : len(tokens)] = 1
    return ids, mask
