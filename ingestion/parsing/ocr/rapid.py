"""RapidOCR with the models of its wheel: where lines of text are in a picture, and what they say.

Never give it another model or language: it would be downloaded.
"""

from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np

from ingestion.parsing.ocr.picture import Grey, Quad, TextLine

_PARAMETERS = {
    "Global.max_side_len": 4000,
    "Global.log_level": "critical",
    "Global.use_cls": False,
    "Det.limit_type": "max",
    "Rec.rec_batch_num": 1,  # more at once is no faster on one thread, and takes twice the memory
    "EngineConfig.onnxruntime.intra_op_num_threads": 1,
    "EngineConfig.onnxruntime.inter_op_num_threads": 1,
}
_LOOK_SIDE = 960  # pixels that lines are looked for in; the time grows with their square
_FINEST_SIDE = 2_400
_LEAST_HEIGHT, _GOOD_HEIGHT = (
    13.0,
    18.0,
)  # of a line at that size: below the first they are looked for at the second
_LEAST_CONFIDENCE = 0.5
_TYPE_OF_BOX = 0.72  # height of the type as a share of the box around its line
_BATCH = 12  # lines read at once: bounds the memory


class RapidReader:
    """Loads its models when it is made: about a second."""

    def __init__(self) -> None:
        from rapidocr import RapidOCR

        cv2.setNumThreads(1)
        self._engine: Any = RapidOCR(params=_PARAMETERS)

    def find(self, picture: Grey) -> list[Quad]:
        """Corners of each line of text, coarsely at first, in more pixels where the type turns out small."""
        quads = self._find(picture, _LOOK_SIDE)
        longest = max(picture.shape)
        if longest <= _LOOK_SIDE:
            return quads
        if quads:
            heights = sorted(
                float(min(np.linalg.norm(q[3] - q[0]), np.linalg.norm(q[1] - q[0]))) for q in quads
            )
            seen = heights[len(heights) // 3] * _LOOK_SIDE / longest
            if seen >= _LEAST_HEIGHT:
                return quads
            side = int(_LOOK_SIDE * min(_GOOD_HEIGHT / max(seen, 1.0), _FINEST_SIDE / _LOOK_SIDE))
        else:
            side = 2 * _LOOK_SIDE
        return self._find(picture, min(side, longest))

    def _find(self, picture: Grey, side: int) -> list[Quad]:
        self._engine.cfg.Det.limit_side_len = side
        if self._engine.text_det is not None:
            self._engine.text_det.limit_side_len = side
        found = self._engine(_coloured(picture), use_det=True, use_cls=False, use_rec=False)
        return [] if found.boxes is None else [np.asarray(box, dtype=np.float32) for box in found.boxes]

    def read(self, picture: Grey, quads: Sequence[Quad]) -> list[TextLine]:
        """The lines inside the quads of an upright picture; those that say nothing are left out."""
        lines: list[TextLine] = []
        ordered = sorted(quads, key=lambda quad: float(np.linalg.norm(quad[1] - quad[0])))
        for start in range(0, len(ordered), _BATCH):
            part = ordered[start : start + _BATCH]
            read = self._engine.recognize_txt([_cut(picture, quad) for quad in part])
            for quad, text, score in zip(part, read.txts, read.scores, strict=True):
                if text.strip() and score >= _LEAST_CONFIDENCE:
                    lines.append(_line(quad, text, float(score)))
        return lines


def _coloured(picture: Grey) -> Any:
    return cv2.cvtColor(picture, cv2.COLOR_GRAY2BGR)


def _cut(picture: Grey, quad: Quad) -> Any:
    """The line as a picture of its own, level."""
    from rapidocr.utils.process_img import get_rotate_crop_image

    left, top = np.maximum(np.floor(quad.min(axis=0)).astype(int) - 2, 0)
    right, bottom = np.ceil(quad.max(axis=0)).astype(int) + 2
    near = picture[top:bottom, left:right]
    return get_rotate_crop_image(_coloured(near), quad - np.array([left, top], dtype=np.float32))


def _line(quad: Quad, text: str, score: float) -> TextLine:
    x0, y0 = map(float, quad.min(axis=0))
    x1, y1 = map(float, quad.max(axis=0))
    height = float(np.linalg.norm(quad[3] - quad[0]))
    return TextLine(
        text=" ".join(text.split()),
        x0=x0,
        y0=y0,
        x1=x1,
        y1=y1,
        baseline=(y0 + y1) / 2 + 0.3 * height,
        size=height * _TYPE_OF_BOX,
        confidence=score,
    )
