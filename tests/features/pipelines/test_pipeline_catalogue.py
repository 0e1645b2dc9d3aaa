"""Which transforms there are: an allow-list, by short and by dotted name, and what is said of everything else."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from foliot import Item, StepContext, Transform, plugins
from foliot.core.errors import InvalidMany
from foliot.features.pipelines.chain.check import TransformCatalogue, build_steps, check_steps, shown
from foliot.features.pipelines.chain.context import Confidential
from foliot.features.pipelines.model import PipelineDefinition, StepSpec, revision_of
from foliot.features.pipelines.steps import built_in
from foliot.features.pipelines.wiring import load

NAMED = [
    *("HttpFetcher", "FeedFetcher", "SitemapFetcher", "HtmlParser", "JsonParser", "ArticleExtractor"),
    *("PriceExtractor", "Filter", "Deduplicate", "JsonlSink", "CsvSink", "SqlSink", "MongoSink", "WebhookSink"),
]


MISSING = "ModuleNotFoundError: No module named '{}'"
UNREADABLE = "its kwargs cannot be read: name 'Nowhere' is not defined"
NO_GENERATOR = "its run must be an async generator: `async def run(self, items, ctx)` with a yield in it"


class Shout(Transform):
    """Makes a field loud.

    More about that.
    """

    field: str = "title"

    async def handle(self, item: Item, ctx: StepContext) -> Item | None:
        return {**item, self.field: str(item[self.field]).upper()}


class Confiding(Transform):
    """Takes what may be a secret."""

    token: Confidential
    headers: dict[str, Confidential] = {}  # noqa: RUF012 -- as people write it
    where: str = ""

    async def handle(self, item: Item, ctx: StepContext) -> Item | None:
        return {**item, "token": await ctx.reveal(self.token)}


def step(name: str, /, **kwargs: Any) -> StepSpec:
    return StepSpec(cls=name, name=name, kwargs=kwargs)


def complaints(*steps: StepSpec) -> dict[str, str]:
    with pytest.raises(InvalidMany) as wrong:
        check_steps(steps, load([]))
    return {one.field: one.message for one in wrong.value.errors}


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Writes a module that can be imported, and forgets it afterwards."""
    monkeypatch.syspath_prepend(tmp_path)
    made: list[str] = []

    def write(name: str, text: str) -> str:
        (tmp_path / f"{name}.py").write_text(text)
        made.append(name)
        return name

    yield write
    for name in made:
        sys.modules.pop(name, None)


def test_every_built_in_is_known_by_its_short_and_its_dotted_name() -> None:
    known = load([])

    assert not known.faults()
    assert set(NAMED) <= set(known.names())
    for one in built_in():
        assert known.get(one.__name__) is known.get(f"{one.__module__}.{one.__name__}") is one


def test_every_built_in_says_what_it_is_for_and_what_it_takes() -> None:
    views = load([]).views()

    assert {view.name for view in views} >= set(NAMED)
    assert all(view.built_in and view.description and view.kwargs["properties"] for view in views)


@pytest.mark.parametrize(
    "name",
    [
        "os.system",
        "subprocess.Popen",
        "foliot.app.build.build",
        "foliot.pipelines.builtin.fetchers.Fetcher",
        "foliot.pipelines.transform.Transform",
        "builtins.eval",
        "__main__.Thing",
        "HttpFetcher.__init__",
        "HttpFetcher.__globals__.os",
        "",
        "antigravity.Fly",
    ],
)
def test_nothing_else_is_found_and_nothing_is_imported_for_it(name: str) -> None:
    before = set(sys.modules)

    assert "class" in next(iter(complaints(step(name))))
    assert "antigravity" not in set(sys.modules) - before


def test_an_unknown_class_is_answered_with_what_was_meant_and_what_there_is() -> None:
    said = complaints(step("HttpFetcher", urls="http://127.0.0.1/"), step("JsonSink", path="a"))

    assert list(said) == ["chain[1].class"]
    assert "did you mean 'JsonlSink'?" in said["chain[1].class"]
    assert "WebhookSink" in said["chain[1].class"]


def test_what_is_wrong_with_each_step_is_said_at_once_and_by_place() -> None:
    said = complaints(
        step("HttpFetcher", url="http://127.0.0.1/", timeout_seconds=0),
        step("HtmlParser", selectors={"title": "h1["}),
        step("HtmlParser"),
        step("Filter", field="a"),
        step("Filter", field="a", matches="("),
        step("JsonlSink", path="../x.jsonl"),
        step("JsonlSink", path="{day}.jsonl"),
        step("SqlSink", url="sqlite:///a.db", table="a; drop table b"),
        step("WebhookSink", url={"secret": ""}),
    )

    assert said["chain[0].kwargs.url"].startswith(
        "is not a parameter of HttpFetcher; known are browser, concurrency, delay"
    )
    assert said["chain[0].kwargs.timeout_seconds"] == "input should be greater than 0"
    assert "is not a CSS selector" in said["chain[1].kwargs.selectors.title"]
    assert said["chain[2].kwargs.selectors"] == "is required"
    assert "exactly one of equals, contains and matches" in said["chain[3].kwargs"]
    assert "is not a regular expression" in said["chain[4].kwargs.matches"]
    assert "without .." in said["chain[5].kwargs.path"]
    assert "has an unknown placeholder {day}" in said["chain[6].kwargs.path"]
    assert "pattern" in said["chain[7].kwargs.table"]
    assert said["chain[8].kwargs.url.secret"] == "string should have at least 1 character"
    assert "chain[8].kwargs.url" not in said


def test_a_complaint_never_repeats_a_value_that_may_be_a_secret() -> None:
    with pytest.raises(InvalidMany) as wrong:
        check_steps([step("WebhookSink", url=["https://user:hunter2@host"], headers={"A": 7})], load([]))

    assert "hunter2" not in str([(str(one), one.message, one.got) for one in wrong.value.errors])


def test_a_chain_has_at_least_one_step() -> None:
    assert complaints() == {"chain": "must have from 1 to 100 steps"}


def test_ones_own_transforms_are_found_in_the_modules_that_the_settings_name(module: Any) -> None:
    name = module(
        "my_plugin",
        "from foliot import Transform\n"
        "from foliot.features.pipelines.steps import HttpFetcher\n\n"
        "class MyFetcher(Transform):\n"
        "    async def run(self, items, ctx):\n"
        "        yield {'id': 1}\n",
    )

    known = load([name])

    assert known.faults() == ()
    assert known.get("my_plugin.MyFetcher") is known.get("MyFetcher") is sys.modules[name].MyFetcher
    assert known.get("my_plugin.HttpFetcher") is None
    assert len(build_steps([step("my_plugin.MyFetcher")], known)) == 1


def test_a_broken_module_is_told_and_spoils_no_other(module: Any) -> None:
    broken = module("broken_steps", "import sys\nsys.exit(3)\n")
    empty = module("empty_steps", "x = 1\n")
    unfit = module(
        "unfit_steps",
        "from foliot import Transform\n\n"
        "class Neither(Transform):\n    pass\n\n"
        "class Plain(Transform):\n    async def run(self, items, ctx):\n        return None\n\n"
        "class Odd(Transform):\n    when: 'Nowhere'\n    async def handle(self, item, ctx):\n        return item\n\n"
        "class Good(Transform):\n    async def handle(self, item, ctx):\n        return item\n",
    )

    known = load([broken, empty, unfit, "no_module_at_all"])

    assert known.get("Good") is not None
    assert [fault.partition(": ")[2] for fault in known.faults()] == [
        "module broken_steps cannot be loaded: broken_steps.py, line 2: SystemExit: 3",
        "module empty_steps has no transform: a class that derives from foliot.Transform",
        "module unfit_steps: transform Neither: has neither `async def run` nor `async def handle`",
        f"module unfit_steps: transform Plain: {NO_GENERATOR}",
        f"module unfit_steps: transform Odd: {UNREADABLE}",
        f"module no_module_at_all cannot be loaded: {MISSING.format('no_module_at_all')}",
    ]


def test_ones_own_transform_takes_no_short_name_from_a_built_in(module: Any) -> None:
    name = module(
        "rivals",
        "from foliot import Transform\n\n"
        "class Filter(Transform):\n    async def handle(self, item, ctx):\n        return item\n",
    )

    known = load([name])

    assert known.get("Filter").__module__.startswith("foliot.")
    assert known.get("rivals.Filter") is sys.modules[name].Filter
    assert "rivals.Filter" in known.names()


def test_two_of_the_same_short_name_are_asked_for_by_their_dotted_ones() -> None:
    class Other:
        class Shout(Transform):
            async def handle(self, item: Item, ctx: StepContext) -> Item | None:
                return item

    known = TransformCatalogue()
    known.add(Shout)
    known.add(Other.Shout)

    assert known.get("Shout") is None
    assert known.get(f"{__name__}.Shout") is Shout
    assert len(known.names()) == 2


def test_packages_bring_transforms_by_entry_points(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [
        EntryPoint("loud", f"{__name__}:Shout", TransformCatalogue.group),
        EntryPoint("gone", "no_such_package:Thing", TransformCatalogue.group),
    ]
    monkeypatch.setattr(plugins, "points", lambda _: points)

    known = load([])

    assert known.get("loud") is known.get("Shout") is Shout
    where = "entry point gone (no_such_package:Thing) of foliot.transforms"
    assert known.faults() == (f"{where} cannot be loaded: {MISSING.format('no_such_package')}",)


def test_what_a_module_imports_from_us_is_not_its_own(module: Any) -> None:
    name = module(
        "borrowed", "from foliot import Transform\nfrom foliot.features.pipelines.steps.sinks import JsonlSink\n"
    )

    assert "has no transform" in load([name]).faults()[0]


def test_what_may_be_a_secret_and_is_written_out_is_not_shown() -> None:
    known = TransformCatalogue()
    known.add(Confiding)
    spec = step("Confiding", token="hunter2", headers={"A": "hunter2", "B": {"secret": "b"}}, where="here")

    assert shown(spec, known) == {"token": "***", "headers": {"A": "***", "B": {"secret": "b"}}, "where": "here"}
    assert shown(step("Confiding", token={"secret": "shop"}), known) == {"token": {"secret": "shop"}}
    assert shown(step("Gone", token="hunter2"), known) == {"token": "***"}


def test_a_view_of_ones_own_has_the_first_of_its_words() -> None:
    known = TransformCatalogue()
    known.add(Shout)

    (view,) = known.views()

    assert (view.name, view.description, view.built_in) == ("Shout", "Makes a field loud.", False)
    assert view.kwargs["properties"] == {"field": {"default": "title", "title": "Field", "type": "string"}}


def test_a_definition_survives_its_json_and_its_revision_is_about_what_it_says() -> None:
    steps = (StepSpec(cls="Shout", name="loud", kwargs={"field": "a"}, on_error="skip", line=7),)
    draft = {"type": "cron", "cron_expr": "0 9 * * *"}
    made = PipelineDefinition(name="a", steps=steps, draft=draft, revision=revision_of(steps, draft))
    moved = (StepSpec(cls="Shout", name="loud", kwargs={"field": "a"}, on_error="skip", line=9),)
    other = (StepSpec(cls="Shout", name="loud", kwargs={"field": "b"}, on_error="skip", line=7),)

    assert PipelineDefinition.from_dict(made.to_dict()) == made
    assert revision_of(moved, draft) == made.revision
    assert revision_of(other, draft) != made.revision
    assert revision_of(steps, None) != made.revision
