"""Damaged, lying and hostile files end in ``ModelFileError``, or in the model that was saved: never in another one."""

from __future__ import annotations

import contextlib
import hashlib
import json
import random
import resource
import struct
import time
import tracemalloc
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

import dsekl
from dsekl import ModelFileError
from tests.files.make import FOLDER, grid

FILES = [(FOLDER / f"{name}-1.dsekl").read_bytes() for name in ("classifier", "regressor")]
MOST_SECONDS, MOST_BYTES = 1.0, 2**22
"""What reading one small bad file may take."""

STRANGE: list[Any] = [
    None, True, -1, 0, 2**31, 2**63, 10**400, 1e308, "", "x" * 1000, "F64", "F8", "__class__", [], [2**62, 2**62],
    {}, [[]], {"array": "basis.data"}, {"array": "nothing"}, {"object": "os.system", "settings": {}}, {"object": []},
    {"object": "Matern", "settings": {"nu": "x"}}, {"strings": ["a"], "dtype": "<U1000000000"}, {"float": "inf"},
    {"dict": [[[], 1]]}, {"random": 3}, {"tuple": 3},
]  # fmt: skip


def parts(content: bytes) -> tuple[dict[str, Any], bytes]:
    """Return safetensors' own header, and the data behind it."""
    (length,) = struct.unpack("<Q", content[:8])
    return json.loads(content[8 : 8 + length]), content[8 + length :]


def joined(outer: Any, data: bytes) -> bytes:
    text = outer if isinstance(outer, bytes) else json.dumps(outer).encode()
    return struct.pack("<Q", len(text)) + text + data


def forged(content: bytes, change: Callable[[str], str]) -> bytes:
    """Return a file whose own header was changed by someone who knows how to make the checksum right again."""
    outer, data = parts(content)
    text = change(outer["__metadata__"]["dsekl"])
    outer["__metadata__"] = {"dsekl": text, "sha256": hashlib.sha256(text.encode()).hexdigest()}
    return joined(outer, data)


def altered(tree: Any, rng: random.Random) -> Any:
    """Return a JSON tree in which one node, somewhere, is something strange, gone, or another node."""
    if not isinstance(tree, dict | list) or not tree or rng.random() < 0.15:
        return rng.choice(STRANGE)
    keys = list(tree) if isinstance(tree, dict) else list(range(len(tree)))
    key = rng.choice(keys)
    tree = tree.copy()
    chance = rng.random()
    if chance < 0.1:
        del tree[key]
    elif chance < 0.2:
        tree[key] = tree[rng.choice(keys)]
    else:
        tree[key] = altered(tree[key], rng)
    return tree


def blind_damage(content: bytes, rng: random.Random) -> bytes:
    """Return a file with some bytes lost, added or changed."""
    at, size = rng.randrange(len(content)), rng.randrange(1, 200)
    noise = rng.randbytes(size)
    match rng.randrange(7):
        case 0:
            return content[:at]
        case 1:
            return content[:at] + content[at + size :]
        case 2:
            return content[:at] + noise + content[at:]
        case 3:
            return content[:at] + noise + content[at + size :]
        case 4:
            return struct.pack("<Q", rng.choice([rng.getrandbits(64), rng.getrandbits(20), 0, 2**63])) + content[8:]
        case _:
            flipped = bytearray(content)
            for place in rng.sample(range(len(content)), rng.randrange(1, 4)):
                flipped[place] ^= 1 << rng.randrange(8)
            return bytes(flipped)


def read(path: Path, content: bytes) -> Any:
    """Return the model in a file, or None if it is refused; neither may take long or much."""
    path.write_bytes(content)
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    started = time.perf_counter()
    try:
        return dsekl.load(path)
    except ModelFileError:
        return None
    finally:
        assert time.perf_counter() - started < MOST_SECONDS
        assert tracemalloc.get_traced_memory()[1] - before < MOST_BYTES


@pytest.fixture
def traced(tmp_path: Path) -> Any:
    tracemalloc.start()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield tmp_path / "m.dsekl"
    tracemalloc.stop()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000, "kilobytes"


def answers(model: Any) -> Any:
    rows = grid()[:5]
    return model.dual_coef_.tobytes(), repr(model), model.predict(rows).tobytes()


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("content", FILES)
def test_thousands_of_damaged_files_never_give_another_model(content: bytes, traced: Path) -> None:
    rng = random.Random(0)
    right = answers(read(traced, content))
    refused = 0
    for _ in range(2000):
        model = read(traced, blind_damage(content, rng))
        refused += model is None
        assert model is None or answers(model) == right
    for _ in range(500):
        outer, data = parts(content)
        model = read(traced, joined(altered(outer, rng), data))
        refused += model is None
        assert model is None or answers(model) == right
    assert refused > 2300


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("content", FILES)
def test_hundreds_of_forged_headers_are_refused_or_harmless(content: bytes, traced: Path) -> None:
    """With the checksum made right a file may say anything: it is a model that works or fails as any other, or none."""
    rng = random.Random(1)
    refused = 0
    for _ in range(600):
        model = read(traced, forged(content, lambda text: json.dumps(altered(json.loads(text), rng))))
        refused += model is None
        if model is not None:
            with contextlib.suppress(ValueError, TypeError, AttributeError, LookupError):
                model.predict(grid()[:5])
    assert refused > 200


def renamed(old: str, new: str) -> Callable[[bytes], bytes]:
    return lambda content: forged(content, lambda text: text.replace(old, new))


def with_shape(name: str, shape: list[int], offsets: list[int] | None = None) -> Callable[[bytes], bytes]:
    def change(content: bytes) -> bytes:
        outer, data = parts(content)
        outer[name].update({"shape": shape} if offsets is None else {"shape": shape, "data_offsets": offsets})
        return joined(outer, data)

    return change


HOSTILE: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "empty": (lambda content: b"", "too short"),
    "text": (lambda content: b"a,b,c\n1,2,3\n" * 10, "not a dsekl file, or corrupted"),
    "pickle": (lambda content: b"\x80\x05\x95" + bytes(50), "not a dsekl file, or corrupted"),
    "half": (lambda content: content[: len(content) // 2], "not a dsekl file, or corrupted"),
    "one byte less": (lambda content: content[:-1], "not a dsekl file, or corrupted"),
    "one byte more": (lambda content: content + b"\0", "not a dsekl file, or corrupted"),
    "huge header": (lambda content: struct.pack("<Q", 2**62) + content[8:], "not a dsekl file, or corrupted"),
    "petabytes": (with_shape("basis.data", [2**50, 2]), "not a dsekl file, or corrupted"),
    "petabytes at once": (with_shape("basis.data", [2**50, 2], [0, 2**54]), "not a dsekl file, or corrupted"),
    "overflowing": (with_shape("basis.data", [2**62, 2**62]), "not a dsekl file, or corrupted"),
    "backwards": (with_shape("basis.data", [63, 2], [2**20, 0]), "not a dsekl file, or corrupted"),
    "bit of data": (lambda content: content[:-9] + bytes([content[-9] ^ 1]) + content[-8:], "corrupted: its checksum"),
    "newer": (renamed('"format":1', '"format":99'), "format 99, and this dsekl reads up to"),
    "no version": (renamed('"format":1', '"format":true'), "no version"),
    "NaN": (renamed('"kernel_tol":1e-06', '"kernel_tol":NaN'), "NaN is no number of JSON"),
    "twice": (renamed('"kernel_tol":1e-06', '"kernel_tol":1e-06,"kernel_tol":1e-06'), "stands twice"),
    "deep": (renamed('"kernel_tol":1e-06', '"kernel_tol":' + "[" * 10**5 + "]" * 10**5), "RecursionError"),
    "digits": (renamed('"kernel_tol":1e-06', '"kernel_tol":' + "9" * 10**5), "is not valid"),
    "parameter": (renamed('"kernel_tol":1e-06', '"kernel_tol":7.0'), "kernel_tol"),
    "class": (renamed('"class":"DSEKLClassifier"', '"class":"subprocess.Popen"'), "is not valid"),
    "kernel": (renamed('"object":"Matern"', '"object":"builtins.eval"'), "is not valid"),
    "attribute": (renamed('"n_iter_"', '"__class__"'), "no fitted attribute"),
    "method": (renamed('"n_iter_"', '"predict"'), "no fitted attribute"),
    "checkpoint": (renamed('"kind":"model"', '"kind":"checkpoint"'), "it is a checkpoint"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_with_a_reason(name: str, tmp_path: Path) -> None:
    change, words = HOSTILE[name]
    content = change(FILES[0])
    assert content != FILES[0]
    path = tmp_path / "m.dsekl"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=words) as caught:
        dsekl.load(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_a_header_beyond_all_measure_is_not_parsed(tmp_path: Path) -> None:
    path = tmp_path / "m.dsekl"
    path.write_bytes(forged(FILES[0], lambda text: text + " " * 2**25))
    with pytest.raises(ModelFileError, match="longer than"):
        dsekl.load(path)


def test_indices_that_leave_the_data_are_refused(tmp_path: Path) -> None:
    """The compiled products would read past the end of an array; so the arrays themselves are forged here, too."""
    path = tmp_path / "m.dsekl"
    for name, entry in (("features", 10**6), ("features", -1), ("starts", 10**6), ("starts", -5)):
        header, arrays = dsekl.persistence.read(FOLDER / "regressor-1.dsekl")
        indices = arrays[f"basis.{name}"]
        indices[len(indices) // 2] = entry
        dsekl.persistence.write(path, header, arrays)
        with pytest.raises(ModelFileError, match="is not valid"):
            dsekl.load(path)


@pytest.mark.parametrize(
    ("name", "shape"), [("basis.data", (5, 2)), ("basis.data", (63, 3)), ("basis.norms", (5,)), ("basis.leaf", (64,)),
    ("basis.scale", (3,)), ("basis.center", (1,)), ("fitted.dual_coef_", (62, 3)), ("fitted.dual_coef_", (63, 2))],
)  # fmt: skip
def test_arrays_that_do_not_fit_each_other_are_refused(name: str, shape: tuple[int, ...], tmp_path: Path) -> None:
    header, arrays = dsekl.persistence.read(FOLDER / "classifier-1.dsekl")
    assert arrays[name].shape != shape
    arrays[name] = np.ones(shape, dtype=arrays[name].dtype)
    dsekl.persistence.write(tmp_path / "m.dsekl", header, arrays)
    with pytest.raises(ModelFileError, match="is not valid"):
        dsekl.load(tmp_path / "m.dsekl")


def test_a_damaged_checkpoint_is_refused_or_the_one_that_was_written(traced: Path) -> None:
    def stop(report: Any) -> bool:
        return True

    settings: dict[str, Any] = dict(gamma=1.0, solver="doubly_stochastic", random_state=0, max_epochs=2)
    X, y = grid(), grid()[:, 0] > 0.1
    dsekl.DSEKLClassifier(checkpoint=traced, callbacks=[stop], **settings).fit(X, y)
    content, rng = traced.read_bytes(), random.Random(0)
    straight = dsekl.DSEKLClassifier(**settings).fit(X, y)
    for _ in range(300):
        traced.write_bytes(blind_damage(content, rng))
        try:
            model = dsekl.DSEKLClassifier(checkpoint=traced, **settings).fit(X, y)
        except ModelFileError:
            continue
        np.testing.assert_array_equal(model.dual_coef_, straight.dual_coef_)


def test_other_peoples_safetensors_are_told_apart(tmp_path: Path) -> None:
    save_file({"weights": np.zeros(3)}, tmp_path / "net.safetensors")
    with pytest.raises(ModelFileError, match="a safetensors file, but not of dsekl"):
        dsekl.load(tmp_path / "net.safetensors")


def forged_model(
    tmp_path: Path, header_of: Callable[[dict[str, Any]], None], arrays_of: Callable[[dict[str, Any]], None], X: Any
) -> Path:
    """Return the file of a small model, changed by someone who makes the checksums right again."""
    path, rng = tmp_path / "m.dsekl", np.random.RandomState(0)
    model = dsekl.DSEKLClassifier(gamma=1.0, random_state=rng, max_epochs=3, early_stopping=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, X[:, 0] > 0).save(path)
    header, arrays = dsekl.persistence.read(path)
    header_of(header)
    arrays_of(arrays)
    dsekl.persistence.write(path, header, arrays)
    return path


def put(group: str, name: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(header: dict[str, Any]) -> None:
        header[group][name] = value

    return change


def put_position(position: Any) -> Callable[[dict[str, Any]], None]:
    def change(header: dict[str, Any]) -> None:
        state = header["parameters"]["random_state"]["random"]["dict"]
        (inner,) = [part for key, part in state if key == "state"]
        (pair,) = [pair for pair in inner["dict"] if pair[0] == "pos"]
        pair[1] = position

    return change


def put_entry(name: str, value: float) -> Callable[[dict[str, Any]], None]:
    def change(arrays: dict[str, Any]) -> None:
        arrays[name].reshape(-1)[0] = value

    return change


def nothing(part: dict[str, Any]) -> None:
    return None


def put_names(*names: str) -> Callable[[dict[str, Any]], None]:
    def change(header: dict[str, Any]) -> None:
        header["feature_names"] = [*names, *(f"x{k}" for k in range(header["fitted"]["n_features_in_"] - len(names)))]

    return change


WRONG_MODELS: dict[str, tuple[Any, Any, str]] = {
    "more features than points have": (put("fitted", "n_features_in_", 1000), nothing, "n_features_in_"),
    "position of the random state": (put_position(10**9), nothing, "RandomState"),
    "position below 0": (put_position(-1), nothing, "RandomState"),
    "NaN among coefficients": (nothing, put_entry("fitted.dual_coef_", np.nan), "dual_coef_"),
    "huge coefficient": (nothing, put_entry("fitted.dual_coef_", 1e300), "dual_coef_"),
    "infinite point": (nothing, put_entry("basis.data", np.inf), "norms"),
    "NaN among points": (nothing, put_entry("basis.data", np.nan), "norms"),
    "another norm": (nothing, put_entry("basis.norms", 1e6), "norms"),
    "negative scale": (nothing, put_entry("basis.scale", -1.0), "scale"),
    "another scale": (nothing, put_entry("basis.scale", 3.0), "gamma_"),
    "infinite centre": (nothing, put_entry("basis.center", np.inf), "centre"),
    "huge centre": (nothing, put_entry("basis.center", 1e300), "too large"),
    "negative gamma": (put("fitted", "gamma_", -1.0), nothing, "gamma_"),
    "C": (put("fitted", "C_", 0.0), nothing, "C_"),
    "two columns of one name": (put_names("a", "a"), nothing, "feature_names"),
    "another attribute": (put("fitted", "note_", 1), nothing, "'note_' is no fitted attribute"),
    "the model itself": (put("fitted", "model_", 1), nothing, "'model_' is no fitted attribute"),
    "history": (put("fitted", "history_", [{"dict": [["gap", "x"]]}]), nothing, "history_"),
    "reason": (put("fitted", "stop_reason_", "because"), nothing, "stop_reason_"),
    "path to write to": (put("parameters", "checkpoint", "/tmp/x"), nothing, "parameters"),
    "callbacks": (put("parameters", "callbacks", []), nothing, "parameters"),
    "degree": (
        put("parameters", "kernel", {"object": "Polynomial", "settings": {"degree": 10**9, "coef0": 1.0}}),
        nothing, "degree",
    ),
    "solver": (
        put("parameters", "solver", {"object": "DualAscent", "settings": {"block_size": 1.5}}), nothing, "block_size"
    ),
    "budget": (put("basis", "budget", -5), nothing, "budget"),
    "reach": (put("basis", "reach", -5.0), nothing, "reach"),
    "classes": (nothing, lambda arrays: arrays.update({"fitted.classes_": np.array([True, False])}), "ascending"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG_MODELS)
def test_a_model_that_cannot_be_is_refused_by_the_field(name: str, tmp_path: Path) -> None:
    of_header, of_arrays, words = WRONG_MODELS[name]
    X = np.random.default_rng(0).normal(size=(60, 1))
    dsekl.load(forged_model(tmp_path, nothing, nothing, X)).predict(X)
    path = forged_model(tmp_path, of_header, of_arrays, X)
    with pytest.raises(ModelFileError, match=words) as caught:
        dsekl.load(path)
    assert str(caught.value).startswith(f"{path}: ")


WRONG_PLANES: dict[str, tuple[str, Any, str]] = {
    "NaN among slopes": ("trend_", np.full((2, 1), np.nan), "trend_"),
    "huge slope": ("trend_", np.full((2, 1), 1.7e308), "trend_ is too large"),
    "a slope too few": ("trend_", np.zeros((1, 1)), "trend_"),
    "infinite intercept": ("intercept_", np.array([np.inf]), "intercept_"),
    "two intercepts": ("intercept_", np.zeros(2), "intercept_"),
}


@pytest.mark.parametrize("name", WRONG_PLANES)
def test_a_plane_that_cannot_be_is_refused(name: str, tmp_path: Path) -> None:
    attribute, value, words = WRONG_PLANES[name]
    X, path = 2 * np.random.default_rng(0).normal(size=(60, 2)), tmp_path / "m.dsekl"
    dsekl.DSEKLClassifier(gamma=1.0, trend=True, random_state=0).fit(X, X[:, 0] > 0).save(path)
    dsekl.load(path).predict(X)
    header, arrays = dsekl.persistence.read(path)
    arrays[f"fitted.{attribute}"] = value
    dsekl.persistence.write(path, header, arrays)
    with pytest.raises(ModelFileError, match=words):
        dsekl.load(path)


def test_points_without_columns_have_no_trend(tmp_path: Path) -> None:
    X, path = np.random.default_rng(0).normal(size=(60, 2)), tmp_path / "m.dsekl"
    dsekl.DSEKLClassifier("precomputed", random_state=0).fit(X @ X.T, X[:, 0] > 0).save(path)
    header, arrays = dsekl.persistence.read(path)
    header["fitted"]["trend_"] = {"array": "fitted.trend_"}
    arrays["fitted.trend_"] = np.zeros((60, 1))
    dsekl.persistence.write(path, header, arrays)
    with pytest.raises(ModelFileError, match="points that have columns"):
        dsekl.load(path)


def test_truth_values_other_than_0_and_1_are_refused(tmp_path: Path) -> None:
    """NumPy counts their bytes, and writes past the end of what it has made room for."""
    active = np.ones(100, dtype=bool)
    active.view(np.uint8)[:] = 255
    dsekl.persistence.write(tmp_path / "m", {"kind": "test"}, {"active": active})
    with pytest.raises(ModelFileError, match=r"'active' holds truth values other than 0 and 1"):
        dsekl.persistence.read(tmp_path / "m")


def test_a_header_of_very_many_values_is_not_parsed(tmp_path: Path) -> None:
    path = tmp_path / "m.dsekl"
    path.write_bytes(forged(FILES[0], lambda text: text[:-1] + ',"more":[' + "[]," * 2**21 + "[]]}"))
    with pytest.raises(ModelFileError, match="more than 2,097,152 values"):
        dsekl.load(path)


def test_texts_that_would_be_padded_beyond_measure_are_refused() -> None:
    texts = {"strings": ["x" * 10**5, *[""] * 10**5], "dtype": "<U100000"}
    with pytest.raises(ValueError, match="far shorter than the longest"):
        dsekl.persistence.decode(texts, {}, {})


def test_texts_that_are_nested_deeper_than_a_table_are_refused() -> None:
    texts: object = "x"
    for _ in range(64):
        texts = [texts]
    with pytest.raises(ValueError, match="are nested 64 deep"):
        dsekl.persistence.decode({"strings": texts, "dtype": "object"}, {}, {})
