"""The one exception that a user's mistake raises, carrying every problem found and not only the first."""

from __future__ import annotations

from collections.abc import Iterable


class OpdebugError(ValueError):
    """Bad input: each problem names the field, the value and what would be accepted.

    `problems` keeps them apart; `str()` joins them with "; ", the form in which the drop-in documents quote them.
    """

    def __init__(self, problems: str | Iterable[str]) -> None:
        self.problems: tuple[str, ...] = (problems,) if isinstance(problems, str) else tuple(problems)
        super().__init__("; ".join(self.problems))
