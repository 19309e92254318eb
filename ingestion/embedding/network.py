"""multilingual-e5-small as an ONNX graph for CPUs: tokens in, the last layer and its mean at length 1 out.

Word embeddings stay 4-bit as the file holds them. The matrices of the layers become int8 with one scale for each
output column, and are multiplied by activations quantised on the fly; the few named in KEPT_EXACT, whose inputs
hold outliers, stay float32. Written node by node with onnxruntime's fused operators, so that building it needs
neither torch nor a pass of graph optimisation.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from ingestion.embedding.weights import BLOCK, Weights

INPUT_IDS, ATTENTION_MASK = "input_ids", "attention_mask"
EMBEDDING, TOKEN_STATES = "embedding", "token_states"
_FUSED = "com.microsoft"
_OPSET, _FUSED_OPSET, _IR = 21, 1, 10
_EPSILON = 1e-12
_LAST_AXIS = -1
KEPT_EXACT = frozenset({"l0.fo", "l4.fo", "l5.fo"})  # in int8 these make two thirds of the quantisation error


def write_network(weights: Weights, path: Path) -> None:
    """Write the model file: int64 ids and mask (batch, tokens) -> float32 (batch, hidden) of L2 norm 1,

    and the states it is the mean of, float32 (batch, tokens, hidden).
    """
    graph = _Graph(weights)
    states = graph.embed_tokens()
    last = weights.shape.layers - 1
    for layer in range(last):
        states = graph.encode_layer(states, f"l{layer}")
    states = graph.encode_layer(states, f"l{last}", TOKEN_STATES)
    graph.pool(states)
    onnx.save(graph.model(), path)


class _Graph:
    """Nodes and constants collected so far; every method adds nodes and returns the name of their output."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []

    def embed_tokens(self) -> str:
        hidden = self._weights.shape.hidden
        words = self._words_4bit()
        places = self._weights.vector("emb.pos").reshape(-1, hidden)
        first_type = self._weights.vector("emb.type").reshape(-1, hidden)[0]  # texts are never pairs
        start, axis = self._constant("start", np.array([0])), self._constant("axis", np.array([1]))
        length = self._node("Shape", [INPUT_IDS], "length", start=1, end=2)
        every_place = self._constant("places", places + first_type)
        used = self._node("Slice", [every_place, start, length, start], "used_places")
        self._node("Cast", [ATTENTION_MASK], "mask_int32", to=TensorProto.INT32)
        self._node("Cast", [ATTENTION_MASK], "mask_float", to=TensorProto.FLOAT)
        self._node("Unsqueeze", ["mask_float", axis], "mask_row")
        return self._normalise(self._node("Add", [words, used], "embedded"), "emb.ln")

    def encode_layer(self, states: str, layer: str, output: str = "") -> str:
        query, key, value = (f"{layer}.{part}" for part in "qkv")
        joined = self._project(states, [query, key, value], f"{layer}.qkv")
        self._nodes.append(
            helper.make_node("Split", [joined], [query, key, value], axis=_LAST_AXIS, num_outputs=3)
        )
        heads = self._weights.shape.heads
        attended = self._fused(
            "MultiHeadAttention", [query, key, value, "", "mask_int32"], f"{layer}.attended", num_heads=heads
        )
        mixed = self._project(attended, [f"{layer}.ao"], f"{layer}.mixed")
        states = self._normalise(self._node("Add", [mixed, states], f"{layer}.sum1"), f"{layer}.aln")
        wide = self._project(states, [f"{layer}.fi"], f"{layer}.wide")
        active = self._node("Gelu", [wide], f"{layer}.active")
        narrow = self._project(active, [f"{layer}.fo"], f"{layer}.narrow", self._weights.shape.feed_forward)
        return self._normalise(self._node("Add", [narrow, states], f"{layer}.sum2"), f"{layer}.oln", output)

    def pool(self, states: str) -> str:
        """The direction of the mean over real tokens: the sum has it too."""
        total = self._node("Squeeze", [self._node("MatMul", ["mask_row", states], "totals"), "axis"], "total")
        length = self._node("ReduceL2", [total, "axis"], "total_length", keepdims=1)
        return self._node("Div", [total, length], EMBEDDING)

    def model(self) -> onnx.ModelProto:
        inputs = [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
            for name in (INPUT_IDS, ATTENTION_MASK)
        ]
        width = self._weights.shape.hidden
        outputs = [
            helper.make_tensor_value_info(EMBEDDING, TensorProto.FLOAT, ["batch", width]),
            helper.make_tensor_value_info(TOKEN_STATES, TensorProto.FLOAT, ["batch", "tokens", width]),
        ]
        graph = helper.make_graph(self._nodes, "e5", inputs, outputs, self._constants)
        opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(_FUSED, _FUSED_OPSET)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=_IR)

    def _words_4bit(self) -> str:
        """Rows of the word table, read from 4-bit blocks. Flipping bit 3 of a nibble is subtracting 8."""
        table = self._weights.matrix("emb.word", self._weights.shape.hidden)
        packed = (table.packed() ^ 0x88).tobytes()
        self._constants.append(
            helper.make_tensor("words", TensorProto.INT4, table.nibbles.shape, packed, raw=True)
        )
        scales = self._constant("words.scales", table.scales)
        return self._fused(
            "GatherBlockQuantized",
            ["words", INPUT_IDS, scales],
            "word_states",
            gather_axis=0,
            quantize_axis=1,
            block_size=BLOCK,
        )

    def _project(self, states: str, names: Sequence[str], output: str, columns: int | None = None) -> str:
        """Multiply by the named matrices side by side and add their biases."""
        columns = columns or self._weights.shape.hidden
        dense = np.concatenate([self._weights.matrix(f"{name}.w", columns).dense() for name in names]).T
        bias = self._constant(
            f"{output}.b", np.concatenate([self._weights.vector(f"{name}.b") for name in names])
        )
        if KEPT_EXACT.issuperset(names):
            product = self._node(
                "MatMul", [states, self._constant(f"{output}.w", dense)], f"{output}.product"
            )
            return self._node("Add", [product, bias], output)
        scales = np.abs(dense).max(axis=0) / 127
        inputs = [
            states,
            self._constant(f"{output}.w", np.rint(dense / scales).astype(np.int8)),
            self._constant(f"{output}.scales", scales),
            "",  # symmetric: no zero point
            bias,
        ]
        return self._fused("DynamicQuantizeMatMul", inputs, output)

    def _normalise(self, states: str, name: str, output: str = "") -> str:
        gain = self._constant(f"{name}.w", self._weights.vector(f"{name}.w"))
        bias = self._constant(f"{name}.b", self._weights.vector(f"{name}.b"))
        return self._node(
            "LayerNormalization", [states, gain, bias], output or name, axis=_LAST_AXIS, epsilon=_EPSILON
        )

    def _constant(self, name: str, value: NDArray[Any]) -> str:
        self._constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def _node(self, operator: str, inputs: Sequence[str], output: str, **attributes: Any) -> str:
        self._nodes.append(helper.make_node(operator, inputs, [output], name=output, **attributes))
        return output

    def _fused(self, operator: str, inputs: Sequence[str], output: str, **attributes: Any) -> str:
        return self._node(operator, inputs, output, domain=_FUSED, **attributes)
