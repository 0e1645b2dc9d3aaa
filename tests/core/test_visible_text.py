"""Names that hide something or read the other way round are refused; ordinary ones in any script are not."""

from __future__ import annotations

import pytest

from foliot.core.document import Fields, check_prose, read_name
from foliot.core.errors import Invalid
from foliot.features.schedules.model.request import check_tags

OVERRIDE = "invoice\u202efdp.exe"


@pytest.mark.parametrize(
    "bad", ["\u202a", "\u202d", "\u202e", "\u2066", "\u2069", "\u200b", "\u200f", "\ufeff", "\u00ad"]
)
def test_a_name_or_tag_with_a_hidden_character_is_refused_and_says_which(bad: str) -> None:
    for read in (
        lambda: read_name(Fields.of("", {"name": f"daily{bad}report"})),
        lambda: check_tags("tags", ["fine", f"pr{bad}ices"]),
    ):
        with pytest.raises(Invalid, match=f"U\\+{ord(bad):04X}") as refused:
            read()
        assert bad not in str(refused.value)


@pytest.mark.parametrize(
    "good", ["Täglich", "每日报告", "تقرير يومي", "דוח יומי", "नमस्\u200dते", "👩\u200d🔬 lab", "cafe\u0301"]
)
def test_a_name_in_any_script_is_fine(good: str) -> None:
    assert read_name(Fields.of("", {"name": good})) == good


def test_prose_may_have_lines_and_marks_and_no_overrides() -> None:
    check_prose("description", "two\nlines\twith \u200fmarks")
    with pytest.raises(Invalid, match="direction"):
        check_prose("description", OVERRIDE)
