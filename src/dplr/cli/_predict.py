"""``dplr predict``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from dplr.cli._faults import FILE, USAGE, Refused, blamed
from dplr.cli._files import check_output, write
from dplr.cli._options import EXISTING, TABLE, format_options, note, output_option, overwrite_option, told
from dplr.cli._rows import table_file
from dplr.cli._tables import feature_kinds, parquet_of, read_table

if TYPE_CHECKING:
    from dplr.rows.files.kinds import Format, Kind

PREDICTION = "prediction"


@click.command(short_help="Predict the rows of a file with a model file.")
@click.argument("model", type=EXISTING)
@click.argument("data", type=TABLE)
@click.option("--proba", is_flag=True, help="Also a column of probabilities for each class (logistic models).")
@click.option("--keep", multiple=True, metavar="COLUMN", help="Copy a column of DATA, such as an id; may be repeated.")
@output_option
@overwrite_option
@format_options
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but warnings and errors.")
def predict(
    model: str, data: str, proba: bool, keep: tuple[str, ...], output: str, overwrite: bool,
    form: Format, quiet: bool,
) -> None:  # fmt: skip
    """Predict the target of each row of DATA with a model file; writes CSV, or Parquet.

    \b
    dplr predict model.json people.csv -o predictions.csv
    dplr predict model.json people.parquet -o predictions.parquet
    dplr predict model.json people.csv --proba --keep id -o - | head      (- is standard output)
    zcat people.csv.gz | dplr predict model.json - -o predictions.csv    (- is standard input)

    DATA is a file that `dplr fit` reads, or - for standard input.
    The name of the output says what it is: .csv or .parquet. Columns are found by their names; what each of them
    holds is part of the model. Rows keep their order.

    Predicting costs no privacy for the people whose records made the model. The rows of DATA are another matter: a
    prediction says something about its row, and nothing here protects that. So no column of DATA is copied unless
    --keep asks for it; think before you publish predictions for private rows.
    """
    if output != "-":
        _check_ending(output)
        check_output(output, overwrite, (model, data))
    from dplr.model_file.file import MODELS, load

    with told():
        with blamed(FILE):
            est = load(model, *MODELS)
            kinds = kinds_of(est)
        with blamed(USAGE):
            _check_request(est, proba, keep)
        with blamed(FILE):
            from dplr.rows.files.kinds import AS_WRITTEN

            data = table_file(data)
            table = read_table(data, kinds, form)
            predictions = _predictions(est, table, proba)
            kept = read_table(data, dict.fromkeys(keep, AS_WRITTEN), form) if keep else None
    if output == "-":
        click.echo(_csv(kept, predictions), nl=False)
        return
    write(output, _WRITERS[_ending(output)](kept, predictions))
    note(f"Wrote {output}: {table.num_rows} predictions.", quiet)


def kinds_of(est: Any) -> dict[str, Kind]:
    from dplr.moments.model import MomentModel

    if isinstance(est, MomentModel):
        kinds = feature_kinds(est.released.bounds)
        return {name: kinds[name] for name in est.feature_names_in_}
    features = est.features_
    bounds = est._record.bounds if features is None else features.bounds
    if bounds is not None:
        return feature_kinds(bounds)
    from dplr.rows.files.kinds import NUMBER

    names = getattr(est if features is None else features, "feature_names_in_", None)
    if names is None:
        raise ValueError("`model` must know the names of its columns; it was fitted on an array without names.")
    return dict.fromkeys([str(name) for name in names], NUMBER)


def _check_request(est: Any, proba: bool, keep: tuple[str, ...]) -> None:
    if proba and not hasattr(est, "predict_proba"):
        raise ValueError(f"`--proba` needs a logistic model; got {type(est).__name__}.")
    names = _names(est, proba)
    clashes = [name for name in keep if name in names]
    if clashes or len(set(keep)) < len(keep):
        raise ValueError(f"`--keep` must name columns once, and none of {', '.join(names)}; got {', '.join(keep)}.")


def _names(est: Any, proba: bool) -> list[str]:
    return [PREDICTION, *([f"probability of {label}" for label in est.classes_.tolist()] if proba else [])]


def _predictions(est: Any, X: Any, proba: bool) -> dict[str, Any]:
    features = getattr(est, "features_", None)  # a model of moments has none
    rows = X if features is None else features.transform(X)
    columns = [est.predict(rows), *(est.predict_proba(rows).T if proba else [])]
    return dict(zip(_names(est, proba), columns, strict=True))


def _ending(output: str) -> str:
    return os.path.splitext(output)[1].lower()


def _check_ending(output: str) -> None:
    if _ending(output) not in _WRITERS:
        raise Refused(f"`--output` must end in {' or '.join(_WRITERS)}, or be - for CSV; got {output}.", USAGE)


def _parquet(kept: Any, predictions: dict[str, Any]) -> bytes:
    """Copied columns have the types that they were read with."""
    return parquet_of(_columns(kept, predictions))


def _columns(kept: Any, predictions: dict[str, Any]) -> dict[str, Any]:
    copied = {} if kept is None else {name: kept[name] for name in kept.column_names}
    return {**copied, **{name: column.tolist() for name, column in predictions.items()}}


def _csv(kept: Any, predictions: dict[str, Any]) -> bytes:
    import csv
    import io

    columns = _columns(kept, predictions)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    fields = [column if isinstance(column, list) else column.to_pylist() for column in columns.values()]
    writer.writerows(zip(*fields, strict=True))
    return text.getvalue().encode()


_WRITERS = {".csv": _csv, ".parquet": _parquet}
