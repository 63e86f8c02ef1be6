"""Comparison with recorded output. Numbers have a tolerance, since sums differ in their last bits from one CPU to the next; all
else is exact."""

import json
import math
import pathlib
import re

DIRECTORY = pathlib.Path(__file__).resolve().parent / "golden"

RELATIVE = 0.02
ABSOLUTE = 1e-5
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
BLOCKS = "▁▂▃▄▅▆▇█"


def close(a, b):
    return math.isclose(a, b, rel_tol=RELATIVE, abs_tol=ABSOLUTE)


def compare_text(actual, expected, where="text"):
    """Words are equal, except that the numbers in them may differ by rounding, and blocks of a sparkline by one level. Line breaks and
    padding follow from the numbers' lengths and are not compared."""
    actual_words, expected_words = actual.split(), expected.split()
    for a, e in zip(actual_words, expected_words):
        assert same_word(a, e), f"{where}: {a!r} instead of {e!r} in\n{actual}"
    assert len(actual_words) == len(expected_words), f"{where}: another number of words in\n{actual}"


def same_word(a, e):
    if a == e:
        return True
    if set(a + e) <= set(BLOCKS + "·"):
        return len(a) == len(e) and all(x == y or ("·" not in x + y and abs(BLOCKS.index(x) - BLOCKS.index(y)) <= 1)
                                        for x, y in zip(a, e))
    numbers_a, numbers_e = NUMBER.findall(a), NUMBER.findall(e)
    return (NUMBER.sub("#", a) == NUMBER.sub("#", e) and
            all(x == y or ((is_measured(x) or is_measured(y)) and close(float(x), float(y)))
                for x, y in zip(numbers_a, numbers_e)))


def is_measured(text):
    """A plain small integer is a count, an index or a name (t25, #18); figures have a point, an exponent or are large."""
    return "." in text or "e" in text or len(text) >= 3


def compare_document(actual, expected, where="$"):
    if isinstance(expected, dict):
        assert isinstance(actual, dict) and list(actual) == list(expected), f"{where}: keys {keys(actual)}, not {keys(expected)}"
        for key in expected:
            # Which of several nearly equal elements is the worst may change with the last bits.
            if key == "worst":
                assert len(actual[key]) == len(expected[key]), f"{where}.worst: another length"
            else:
                compare_document(actual[key], expected[key], f"{where}.{key}")
    elif isinstance(expected, list):
        assert isinstance(actual, list) and len(actual) == len(expected), f"{where}: another length"
        for i, (a, e) in enumerate(zip(actual, expected)):
            compare_document(a, e, f"{where}[{i}]")
    elif isinstance(expected, float):
        assert isinstance(actual, (int, float)) and not isinstance(actual, bool) and close(actual, expected), \
            f"{where}: {actual}, not {expected}"
    elif isinstance(expected, str):
        assert isinstance(actual, str), f"{where}: {actual}, not a text"
        compare_text(actual, expected, where)
    else:
        assert actual == expected and type(actual) is type(expected), f"{where}: {actual!r}, not {expected!r}"


def keys(value):
    return list(value) if isinstance(value, dict) else type(value).__name__


def steady(text):
    """Terminal views without what differs from run to run: the time in the last line and the program's version."""
    text = re.sub(r"\d+\.\d\d s\n\Z", "TIME\n", text)
    return re.sub(r"\Aqnn-debug \S+", "qnn-debug VERSION", text)


def check_text(name, actual, update, exact=False):
    """`exact`: for views without measured figures, every character counts."""
    path = DIRECTORY / name
    if update:
        path.parent.mkdir(exist_ok=True)
        path.write_text(steady(actual))
    assert path.exists(), f"{path} is missing; run.py --update writes it"
    if exact:
        assert steady(actual) == path.read_text(), f"{name}: another text\n{actual}"
    compare_text(steady(actual), path.read_text(), name)


def check_document(name, actual, update, exact=False):
    path = DIRECTORY / name
    if update:
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(actual, indent=1) + "\n")
    assert path.exists(), f"{path} is missing; run.py --update writes it"
    expected = json.loads(path.read_text())
    compare_document(actual, expected)
    assert not exact or actual == expected, f"{name}: numbers in texts differ"
