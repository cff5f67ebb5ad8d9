"""Two values side by side: what of them is not alike.

Pure. Knows neither turns nor printing. Invariant: what is left out of both sides is alike.
"""


def narrowed(mine: object, theirs: object) -> tuple[object, object]:
    """Both without what they have alike: of lists the beginning and the end, of mappings the equal keys."""
    if isinstance(mine, list) and isinstance(theirs, list):
        return parted(mine, theirs)
    if isinstance(mine, dict) and isinstance(theirs, dict):
        keys = [key for key in {**mine, **theirs} if mine.get(key) != theirs.get(key)]
        return {key: mine.get(key) for key in keys}, {key: theirs.get(key) for key in keys}
    return mine, theirs


def parted(mine: list[object], theirs: list[object]) -> tuple[list[object], list[object]]:
    """Both lists without what they begin and end with alike."""
    begin = 0
    while begin < min(len(mine), len(theirs)) and mine[begin] == theirs[begin]:
        begin += 1
    end = 0
    while end < min(len(mine), len(theirs)) - begin and mine[-1 - end] == theirs[-1 - end]:
        end += 1
    return mine[begin : len(mine) - end], theirs[begin : len(theirs) - end]


AROUND = 40
"""So many characters are shown before the place where two texts part, and twice as many behind it."""


def excerpts(mine: str, theirs: str) -> tuple[str, str]:
    """Two long texts around the place where they part."""
    place = next((n for n, (a, b) in enumerate(zip(mine, theirs, strict=False)) if a != b), min(len(mine), len(theirs)))
    return _excerpt(mine, place), _excerpt(theirs, place)


def _excerpt(text: str, place: int) -> str:
    begin, end = max(place - AROUND, 0), place + 2 * AROUND
    return f"{'…' if begin else ''}{text[begin:end]}{'…' if end < len(text) else ''}"
