"""Released models as ONNX graphs of plain operators, in float64.

Not by a converter of pipelines: skl2onnx 1.20 has none for steps of functions, such as the clip.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dplr._kit.extras import optional_library
from dplr._kit.validation import sentence
from dplr.bounds.columns import Level
from dplr.estimators.export.parts import (
    Interval,
    Mark,
    Number,
    OneHot,
    Part,
    Position,
    Shares,
    Times,
    is_text,
    parts_of,
    text_features,
)
from dplr.problem.losses.link import Link

OPSET, IR_VERSION = 19, 9  # the first with an Equal of text, and the format of its time
_ALL = "X"  # the one input of a model whose columns have no names
_LOWEST, _HIGHEST = -np.finfo(np.float64).max, np.finfo(np.float64).max
_GONE = ""  # ONNX has no missing text


class Graph:
    """Nodes and constants of a graph, in the order in which they are added, under names that no input or output has."""

    def __init__(self, names: Sequence[str]) -> None:
        self._onnx = optional_library("onnx", "to_onnx", "onnx")
        self.types: Any = self._onnx.TensorProto
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._names = set(names)

    def add(self, operator: str, *inputs: str, output: str | None = None, **attributes: Any) -> str:
        """Add a node; returns the name of its output."""
        name = self._fresh() if output is None else output
        self._nodes.append(self._onnx.helper.make_node(operator, list(inputs), [name], **attributes))
        return name

    def constant(self, value: Any) -> str:
        """Add a constant array of text, integers, booleans or float64; returns its name."""
        array, name = np.asarray(value), self._fresh()
        if array.dtype.kind in "OU":
            texts = [text.encode() for text in array.ravel().tolist()]
            self._constants.append(self._onnx.helper.make_tensor(name, self.types.STRING, array.shape, texts))
        else:
            self._constants.append(self._onnx.numpy_helper.from_array(array, name))
        return name

    def number(self, condition: str) -> str:
        """Booleans as 0.0 and 1.0."""
        return self.add("Cast", condition, to=self.types.DOUBLE)

    def value(self, name: str, kind: Any, *shape: int) -> Any:
        """An input or output with a row per record."""
        return self._onnx.helper.make_tensor_value_info(name, kind, ["rows", *shape])

    def model(self, inputs: Sequence[Any], outputs: Sequence[Any], description: str) -> Any:
        """The checked model; `description` is its documentation."""
        helper = self._onnx.helper
        graph = helper.make_graph(self._nodes, "dplr", inputs, outputs, self._constants)
        opsets = [helper.make_opsetid("", OPSET)]
        model = helper.make_model(graph, opset_imports=opsets, producer_name="dplr", ir_version=IR_VERSION)
        model.doc_string = description
        self._onnx.checker.check_model(model, full_check=True)
        return model

    def _fresh(self) -> str:
        name = f"value {len(self._names)}"
        while name in self._names:
            name += "_"
        self._names.add(name)
        return name


def model_of(fitted: Any) -> Any:
    """The ONNX model of a fitted one: the work of `Exports.to_onnx`."""
    prep, names = fitted._record.prep, getattr(fitted, "feature_names_in_", None)
    parts = () if prep.layout is None else parts_of(prep)
    ends = ("label", "margin", "probability") if hasattr(fitted, "classes_") else ("prediction",)
    listed = [_ALL] if names is None else [str(name) for name in names]
    if clashes := [name for name in listed if name in ("", *ends)]:
        rule = f"must not be empty for ONNX, or {', '.join(ends)}"
        raise ValueError(sentence("feature_names_in_", rule, clashes, "Rename the columns before the fit."))
    graph, texts, d = Graph([*listed, *ends]), text_features(parts), fitted.n_features_in_
    if names is None:
        inputs = [graph.value(_ALL, graph.types.DOUBLE, d)]
        columns = [graph.add("Gather", _ALL, graph.constant(np.array([k])), axis=1) for k in range(d)]
    else:
        kinds = [graph.types.STRING if k in texts else graph.types.DOUBLE for k in range(d)]
        inputs = [graph.value(name, kind, 1) for name, kind in zip(listed, kinds, strict=True)]
        columns = listed
    blocks = _blocks(graph, parts, columns)
    matrix = graph.add("Concat", *(blocks or columns), axis=1)
    outputs = _outputs(graph, fitted, matrix if parts else _in_ball(graph, matrix))
    return graph.model(inputs, outputs, str(fitted.privacy_))


def _outputs(graph: Graph, fitted: Any, matrix: str) -> list[Any]:
    """Margins, and what follows from them; their descriptions."""
    coef, intercept = np.atleast_2d(fitted.coef_), np.atleast_1d(fitted.intercept_)
    product = graph.add("MatMul", matrix, graph.constant(np.ascontiguousarray(coef.T)))
    several, classes = len(coef) > 1, getattr(fitted, "classes_", None)
    if classes is None:
        value = _flat(graph, graph.add("Add", product, graph.constant(intercept)))
        target = fitted._record.prep.target
        if fitted._record.prep.link == "log":
            value = graph.add("Exp", value)
        graph.add("Identity", value if target is None else _clipped(graph, value, *target), output="prediction")
        return [graph.value("prediction", graph.types.DOUBLE)]
    table = graph.add("Add", product, graph.constant(intercept))
    margin = graph.add("Identity", table if several else _flat(graph, table), output="margin")
    if several:
        best = graph.add("ArgMax", margin, axis=1, keepdims=0)
    else:
        best = graph.add("Cast", graph.add("Greater", margin, graph.constant(0.0)), to=graph.types.INT64)
    kind, labels = _labels(graph, classes)
    graph.add("Gather", labels, best, axis=0, output="label")
    outputs = [
        graph.value("label", kind),
        graph.value("margin", graph.types.DOUBLE, *([len(classes)] if several else [])),
    ]
    if hasattr(fitted, "predict_proba"):
        log_odds = _log_odds(graph, table, fitted._record.link)
        if several:  # each over their sum, also where all are tiny
            graph.add("Softmax", _log_chance(graph, log_odds), axis=1, output="probability")
        else:
            chances = [graph.add("Sigmoid", value) for value in (graph.add("Neg", log_odds), log_odds)]
            graph.add("Concat", *chances, axis=1, output="probability")
        outputs.append(graph.value("probability", graph.types.DOUBLE, len(classes)))
    return outputs


def _blocks(graph: Graph, parts: Sequence[Part], columns: Sequence[str]) -> list[str]:
    """The columns (rows, width) of each part, from the inputs."""
    return [_BLOCKS[type(part)](graph, part, columns) for part in parts]


def _number(graph: Graph, part: Number, columns: Sequence[str]) -> str:
    value = _number_filled(graph, part.filler, columns[part.place])
    return _less(graph, _FORWARD[part.transform](graph, _clipped(graph, value, part.lower, part.upper)), part.middle)


def _shares(graph: Graph, part: Shares, columns: Sequence[str]) -> str:
    """How far a number has come towards each knot, from 0 to 1, less how far from there to the next one."""
    value = _clipped(graph, _number_filled(graph, part.filler, columns[part.place]), part.knots[0], part.knots[-1])
    places = np.array([part.places])
    distance = graph.add("Sub", _FORWARD[part.transform](graph, value), graph.constant(places[:, :-1]))
    rise = _clipped(graph, graph.add("Div", distance, graph.constant(np.diff(places))), 0.0, 1.0)
    arrival = graph.add("Pad", rise, graph.constant(np.array([0, 1, 0, 0])), graph.constant(1.0))
    departure = graph.add("Pad", rise, graph.constant(np.array([0, 0, 0, 1])), graph.constant(0.0))
    shares = graph.add("Sub", arrival, departure)
    gap = graph.constant(np.full((1, part.width), np.nan if part.refused else 0.0))
    return graph.add("Where", graph.add("IsNaN", value), gap, shares)


def _log1p(graph: Graph, value: str) -> str:
    return graph.add("Log", graph.add("Add", graph.constant(1.0), value))


_FORWARD: dict[str, Callable[[Graph, str], str]] = {
    "clip": lambda _, value: value,
    "log1p": _log1p,
    "log": lambda graph, value: graph.add("Log", value),
    "sqrt": lambda graph, value: graph.add("Sqrt", value),
}


def _one_hot(graph: Graph, part: OneHot, columns: Sequence[str]) -> str:
    name, kept = columns[part.place], part.kept
    rows = (np.array(part.columns)[:, None] == np.arange(part.width)).astype(np.float64)
    hits = graph.number(_hits(graph, tuple(kept), name))
    if part.width < len(kept):
        hits = graph.add("MatMul", hits, graph.constant(np.eye(part.width)[list(kept.values())]))
    return _filled(graph, part, name, hits, np.zeros(part.width), rows)


def _interval(graph: Graph, part: Interval, columns: Sequence[str]) -> str:
    """The bin of a number is how many edges are not above it. No edge compares with NaN, which has its row below."""
    name = columns[part.place]
    value = _number_filled(graph, part.filler, name)
    passed = graph.number(graph.add("GreaterOrEqual", value, graph.constant(np.array([part.edges]))))
    place = graph.add("ReduceSum", passed, graph.constant(np.array([1])), keepdims=1)
    hits = graph.number(graph.add("Equal", place, graph.constant(np.array([part.kept], np.float64))))
    gap = graph.constant(np.full((1, part.width), np.nan if part.refused else 0.0))
    return graph.add("Where", graph.add("IsNaN", value), gap, hits)


def _position(graph: Graph, part: Position, columns: Sequence[str]) -> str:
    """other + the sum over levels of (place - other), where the value is that level."""
    name, places = columns[part.place], np.array(part.positions, np.float64)[:, None]
    hits = graph.number(_hits(graph, part.levels, name))
    offset = graph.add("MatMul", hits, graph.constant(places - part.fallback))
    value = graph.add("Add", offset, graph.constant(part.fallback))
    return _less(graph, _filled(graph, part, name, value, np.array([part.fallback]), places), part.middle)


def _mark(graph: Graph, part: Mark, columns: Sequence[str]) -> str:
    return graph.number(_gone(graph, part.levels, columns[part.place]))


def _times(graph: Graph, part: Times, columns: Sequence[str]) -> str:
    """Each column of the one (rows, k, 1) times each of the other (rows, 1, m), in one row."""
    first, second = (graph.add("Concat", *_blocks(graph, factor, columns), axis=1) for factor in part.factors)
    upright = graph.add("Unsqueeze", first, graph.constant(np.array([2])))
    product = graph.add("Mul", upright, graph.add("Unsqueeze", second, graph.constant(np.array([1]))))
    value = graph.add("Reshape", product, graph.constant(np.array([0, part.width])))  # 0: as many rows as there are
    return value if part.ends is None else _clipped(graph, value, *part.ends)


_BLOCKS: dict[type[Part], Callable[[Graph, Any, Sequence[str]], str]] = {
    Number: _number, Shares: _shares, OneHot: _one_hot, Interval: _interval, Position: _position, Mark: _mark,
    Times: _times,
}  # fmt: skip


def _number_filled(graph: Graph, filler: float | None, name: str) -> str:
    return name if filler is None else graph.add("Where", graph.add("IsNaN", name), graph.constant(filler), name)


def _less(graph: Graph, value: str, middle: float) -> str:
    return graph.add("Sub", value, graph.constant(middle)) if middle else value


def _hits(graph: Graph, levels: Sequence[Level], name: str) -> str:
    """(rows, levels) whether the value is each level."""
    values = np.array([levels], object) if is_text(levels) else np.array([levels], np.float64)
    return graph.add("Equal", name, graph.constant(values))


def _filled(graph: Graph, part: OneHot | Position, name: str, value: str, fallback: Any, rows: Any) -> str:
    """The row of the level that a missing value counts as, `fallback` for no level, NaN where it is refused."""
    if part.refused:
        gap = np.full_like(fallback, np.nan)
    else:
        gap = fallback if part.filler is None else rows[part.levels.index(part.filler)]
    return graph.add("Where", _gone(graph, part.levels, name), graph.constant(gap[None, :]), value)


def _gone(graph: Graph, levels: Sequence[Level], name: str) -> str:
    """Whether a value is missing. Where empty text is a level no text is."""
    if not is_text(levels):
        return graph.add("IsNaN", name)
    if _GONE in levels:
        never = graph.add("Equal", name, graph.constant(np.array([[_GONE]], object)))
        return graph.add("And", never, graph.add("Not", never))
    return graph.add("Equal", name, graph.constant(np.array([[_GONE]], object)))


def _clipped(graph: Graph, value: str, lower: float, upper: float) -> str:
    """Clip, with NaN as it is: the operator Clip may turn it into a bound."""
    for comparison, end in (("Less", lower), ("Greater", upper)):
        outside = graph.add(comparison, value, graph.constant(float(end)))
        value = graph.add("Where", outside, graph.constant(float(end)), value)
    return value


def _in_ball(graph: Graph, rows: str) -> str:
    """Rows projected onto the unit ball; those inside stay as they are."""
    square = graph.add("ReduceSum", graph.add("Mul", rows, rows), graph.constant(np.array([1])), keepdims=1)
    norm = graph.add("Sqrt", square)
    outside = graph.add("Greater", norm, graph.constant(1.0))
    return graph.add("Where", outside, graph.add("Div", rows, norm), rows)


def _log_odds(graph: Graph, margin: str, link: Link) -> str:
    """As `Link.log_odds`."""
    if not link.share:
        return margin
    minus = graph.add("Neg", margin)
    difference = graph.add("Sub", _log_slope(graph, minus, link), _log_slope(graph, margin, link))
    parts = ((1 - link.share, margin), (link.share, difference))
    return graph.add("Add", *(graph.add("Mul", graph.constant(factor), term) for factor, term in parts))


def _log_slope(graph: Graph, margin: str, link: Link) -> str:
    below = graph.add("Exp", _clipped(graph, graph.add("Sub", margin, graph.constant(link.turn)), _LOWEST, 0.0))
    cut = _log1p(graph, graph.add("Mul", graph.constant(-link.bend), below))
    above = _clipped(graph, margin, link.turn, _HIGHEST)
    return graph.add("Sub", cut, graph.add("Neg", _log_chance(graph, graph.add("Neg", above))))


def _log_chance(graph: Graph, margin: str) -> str:
    """log(1 / (1 + exp(-m))) = min(m, 0) - log(1 + exp(-|m|)), which does not overflow."""
    below = graph.add("Min", margin, graph.constant(0.0))
    tail = graph.add("Exp", graph.add("Neg", graph.add("Abs", margin)))
    return graph.add("Sub", below, _log1p(graph, tail))


def _flat(graph: Graph, table: str) -> str:
    return graph.add("Reshape", table, graph.constant(np.array([-1])))


def _labels(graph: Graph, classes: Any) -> tuple[Any, str]:
    """The type of labels in ONNX, and their constant."""
    kinds = {"b": (graph.types.BOOL, np.bool_), "i": (graph.types.INT64, np.int64), "u": (graph.types.INT64, np.int64),
             "f": (graph.types.DOUBLE, np.float64), "U": (graph.types.STRING, object)}  # fmt: skip
    plain = np.array(classes.tolist())
    same = plain.dtype.kind in kinds and plain.tolist() == classes.tolist()
    if not same or (plain.dtype.kind == "u" and plain.max() > np.iinfo(np.int64).max):
        raise ValueError(sentence("classes_", "must be text, or integers, or numbers, or booleans for ONNX", classes))
    kind, dtype = kinds[plain.dtype.kind]
    return kind, graph.constant(plain.astype(dtype))
