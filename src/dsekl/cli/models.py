"""Models as the commands use them: new ones, and those in model files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from dsekl.data.compression import opened
from dsekl.data.errors import DataFileError
from dsekl.data.recipe import Recipe
from dsekl.data.sparse_encoding import SparseEncoder
from dsekl.data.table import Features
from dsekl.persistence import ModelFileError

from .console import UsageError

if TYPE_CHECKING:
    from dsekl import DSEKLClassifier, DSEKLRegressor
    from dsekl.estimators.seen_tables import EncodedFile

    from .reading import TrainingSet


class FittedModel(Protocol):
    """What the commands use of a fitted estimator; a regressor has no decision values."""

    kernel_: object
    loss: object
    loss_: object
    solver: object
    C_: float
    n_iter_: int
    dual_coef_: NDArray[np.float64]
    support_: NDArray[np.intp]
    history_: list[dict[str, float]]
    stop_reason_: str
    _file: EncodedFile | None

    def predict(self, X: Features) -> NDArray[Any]: ...
    def decision_function(self, X: Features) -> NDArray[np.float64]: ...
    def set_params(self, **parameters: object) -> object: ...
    def save(self, path: Path, *, table: dict[str, Any], provenance: dict[str, Any]) -> None: ...


def new_estimator(recipe: Recipe, loss: str | None, settings: dict[str, Any]) -> DSEKLClassifier | DSEKLRegressor:
    """Return an unfitted estimator for the recipe's task."""
    import dsekl

    if loss is not None:
        settings = {**settings, "loss": loss}
    return dsekl.DSEKLClassifier(**settings) if recipe.target.classes else dsekl.DSEKLRegressor(**settings)


def fitted(
    unfitted: DSEKLClassifier | DSEKLRegressor, training: TrainingSet, weights: NDArray[np.float64] | None = None
) -> FittedModel:
    """Fit an estimator to encoded rows and the codes or numbers of their targets."""
    from dsekl.estimators.seen_tables import EncodedFile

    recipe = training.recipe
    if not isinstance(recipe.encoder, SparseEncoder):
        unfitted._file = EncodedFile(recipe.encoder, training.levels)
    return cast("FittedModel", unfitted.fit(training.X, recipe.target.decoded(training.y), weights))


def fewest_rows_of_search(settings: dict[str, Any]) -> int | None:
    """Return the rows from which on a fit searches for gamma; None where it never does."""
    import dsekl
    from dsekl.estimators.seen_tables import searched_from

    return searched_from(dsekl.DSEKLClassifier(**settings))


def recipe_of(model: FittedModel, recipe: Recipe) -> Recipe:
    """Return how rows become those of a model: with what its fit has found out about categories."""
    file = model._file
    return recipe if file is None else replace(recipe, encoder=file.encoder)


def probabilities(model: FittedModel, X: Features) -> NDArray[np.float64] | None:
    """Return the probability of each class, None for a model without, or that would take long to have them."""
    late = vars(model).get("_late")
    predict_proba = getattr(model, "predict_proba", None)
    return None if predict_proba is None or late is None or not late.cheap else np.asarray(predict_proba(X))


def read_model(path: Path, data: Path) -> tuple[FittedModel, Recipe]:
    """Return the model and the recipe in a model file; ``data`` is the table that is named beside it."""
    from dsekl.estimators.encoded_tables import detach
    from dsekl.estimators.files import read

    check_readable(path)
    try:
        saved = read(path)
    except ModelFileError:
        if not _is_model(data):
            raise
        raise UsageError(f"{path}: is not a model file, but {data} is; name the model first, then the table") from None
    recipe = detach(saved.estimator)
    if recipe is None and saved.table is None:
        raise UsageError(
            f"{path}: was saved from Python, without the columns of a table; use dsekl.load in Python, or make the "
            "model with 'dsekl fit', or fit a frame"
        )
    if recipe is None:
        recipe = Recipe.from_dict(saved.table, path)
        _check_fit(path, saved.estimator, recipe)
    return cast("FittedModel", saved.estimator), recipe


def _check_fit(path: Path, estimator: DSEKLClassifier | DSEKLRegressor, recipe: Recipe) -> None:
    """Raise an error if the columns and classes of the table are not those that the model was fitted to."""
    from sklearn.base import is_classifier

    classes = np.asarray(estimator.classes_).tolist() if is_classifier(estimator) else []
    if recipe.encoder.n_features != estimator.n_features_in_ or list(recipe.target.classes) != classes:
        raise DataFileError(path, "is corrupted: the columns or classes of its table are not those of its model")


def _is_model(path: Path) -> bool:
    """Return whether a file has the header of a model."""
    from dsekl.estimators.files import describe

    try:
        return bool(describe(path)["kind"] == "model")
    except (ModelFileError, OSError):
        return False


def check_readable(path: Path) -> None:
    """Raise the same error for a model file that cannot be opened as for a data file."""
    with opened(path):
        pass
