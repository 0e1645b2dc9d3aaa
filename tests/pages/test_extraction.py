"""How well articles are read: pages of many kinds, languages and encodings, and a score that must not fall."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from foliot.pages.article import extract

PAGES = Path(__file__).parents[1] / "pages"
URL = "https://site.test/section/page"
UNREAD = {"shop-en: lacks Zip broke", "forum-en: holds sounds overproofed"}
"""What is known to go wrong: reviews pass for text, and of a thread only what opens it is read."""


@dataclass(frozen=True, kw_only=True)
class Expected:
    """What a page is to be read as."""

    title: str
    author: str | None = None
    published_at: str | None = None
    language: str | None = None
    canonical_url: str = URL
    image: str | None = None
    holds: tuple[str, ...] = field(default=())
    """Parts of its text, from its first paragraph to its last."""
    lacks: tuple[str, ...] = field(default=())
    """What stands around it."""
    encoding: str = "utf-8"
    content_type: str = "text/html"


EXPECTED = {
    "news-en": Expected(
        title="Harbour bridge to close for nine months",
        author="Eleanor Whitcombe",
        published_at="2026-03-14T08:30:00+00:00",
        language="en-gb",
        canonical_url="https://courier.test/news/harbour-bridge",
        image="https://courier.test/img/bridge-large.jpg",
        holds=("voted by eleven to four", "bearings under the northern span", "repainted eleven times"),
        lacks=(
            "mattresses",
            "cookies",
            "Rovers sign",
            "ten years ago",
            "morning briefing",
            "Privacy policy",
            "dataLayer",
        ),
    ),
    "news-de": Expected(
        title="Zwölf Gemeinden gründen gemeinsames Wasserwerk",
        author="Jürgen Köhler",
        published_at="2026-06-02",
        language="de",
        canonical_url="https://site.test/region/wasserwerk",
        holds=("sieben Jahren Verhandlung", "„Keine von uns hätte", "drei Grundstücke erworben"),
        lacks=("Alle akzeptieren", "Störche", "Impressum", "Drucken"),
        encoding="windows-1252",
    ),
    "blog-fr": Expected(
        title="Réparer une vieille horloge comtoise",
        author="Amélie Roussel",
        published_at="2025-11-23T19:05:00+01:00",
        language="fr-fr",
        canonical_url="https://carnet.test/2025/11/horloge-comtoise/",
        image="https://site.test/photos/horloge.jpg",
        holds=("l’été 1987", "Nettoyer le mouvement", "l’heure juste deux fois par jour"),
        lacks=("Bravo pour la patience", "Confiture", "propulsé", "Abonnez-vous"),
        content_type="text/html; charset=utf-8",
    ),
    "shop-en": Expected(
        title="Trailhead 45 L rucksack",
        language="en",
        canonical_url="https://northfell.test/products/trailhead-45",
        image="https://northfell.test/p/trailhead.jpg",
        holds=("sprung steel frame", "rain cover lives", "1,480 g"),
        lacks=("Zip broke", "Folding cup", "Free delivery", "Basket (0)"),
    ),
    "forum-en": Expected(
        title="Sourdough collapses after the second proof",
        author="crumbshot",
        published_at="2026-02-08",
        language="en",
        canonical_url="https://forum.test/t/4711",
        holds=("seventy-two per cent hydration", "as hot as it will go", "sounds overproofed"),
        lacks=("Log in", "Mark all forums read"),
    ),
    "docs-en": Expected(
        title="Retention policies",
        language="en",
        canonical_url="https://silo.test/docs/retention.html",
        holds=(
            "more patient of them",
            "silo bucket retention set photos",
            "never delete anything",
            "together with its reason",
        ),
        lacks=("Search docs", "Changelog", "Silo contributors"),
    ),
    "news-ru": Expected(
        title="В Архангельске открыли музей поморских лодок",
        author="Марина Зуева",
        published_at="2026-08-19T12:00:00+03:00",
        language="ru",
        canonical_url="https://vestnik.test/muzey",
        holds=("двадцать три деревянные лодки", "сесть на вёсла"),
        lacks=("Ледоход", "Все права защищены", "Афиша"),
        encoding="windows-1251",
    ),
    "news-ja": Expected(
        title="山あいの駅に小さな図書館、住民が本を持ち寄る",
        author="佐藤美咲",
        published_at="2026-04-05T09:00:00+09:00",
        language="ja",
        canonical_url="https://kitamine.test/toshokan",
        holds=("無人となった山あいの駅", "いつか別の本になって"),
        lacks=("桜まつり", "無断転載", "スポーツ"),
        encoding="shift_jis",
    ),
    "news-zh": Expected(
        title="老茶馆重新开张 街坊邻里又聚到一起",
        author="陈立新",
        published_at="2026-01-18T10:20:00+08:00",
        language="zh-cn",
        canonical_url="https://jiangcheng.test/chaguan",
        holds=("八十年历史的老茶馆", "茶钱还是三元"),
        lacks=("地铁新线", "版权所有", "财经"),
        encoding="gb18030",
    ),
    "blog-es": Expected(
        title="Cómo planté un olivar en la ladera",
        author="Íñigo Muñoz",
        published_at="2025-12-01",
        language="es",
        canonical_url="https://olivar.test/entradas/ladera",
        holds=("un pedregal lleno de zarzas", "los que ocuparán su lugar"),
        lacks=("Qué maravilla", "Suscríbete", "Archivo"),
        content_type="text/html; charset=iso-8859-1",
    ),
    "news-el": Expected(
        title="Το παλιό εργοστάσιο γίνεται σχολείο μουσικής",
        author="Ελένη Παπαδάκη",
        language="el",
        canonical_url="https://efimerida.test/scholeio",
        holds=("εργοστάσιο υφαντουργίας", "μόνιμη έκθεση στην είσοδο"),
        lacks=("Όροι χρήσης", "Καιρός"),
        encoding="iso-8859-7",
        content_type="text/html; charset=iso-8859-7",
    ),
    "magazine-pl": Expected(
        title="Żubry wracają nad Biebrzę",
        author="Zofia Łukaszewicz",
        published_at="2026-09-30T06:15:00+02:00",
        language="pl-pl",
        canonical_url="https://dziennik.test/zubry",
        image="https://dziennik.test/zubry.jpg",
        holds=("małe stado żubrów", "stratowane łąki", "najszybciej rosnąca grupa"),
        lacks=("opony zimowe", "Bociany", "Regulamin", "Zgadzam się"),
        encoding="iso-8859-2",
    ),
    "old-sv": Expected(
        title="Bykyrkans orgel spelar igen",
        holds=("fyra års tystnad", "garvare på Öland", "trampa bälgarna"),
        lacks=("Gästbok", "Besökare nummer"),
        encoding="iso-8859-1",
    ),
}


def score(name: str) -> dict[str, bool]:
    """Each thing that is expected of a page, and whether it came true."""
    expected = EXPECTED[name]
    body = (PAGES / f"{name}.html").read_text(encoding="utf-8").encode(expected.encoding, "xmlcharrefreplace")
    found: dict[str, Any] = extract(body, expected.content_type, URL)
    content = found.get("content") or ""
    made = {
        what: (found.get(what) or "").casefold() == (getattr(expected, what) or "").casefold()
        for what in ("title", "author", "published_at", "language", "canonical_url", "image")
    }
    made |= {f"holds {part}": part in content for part in expected.holds}
    return made | {f"lacks {part}": part not in content for part in expected.lacks}


def test_every_page_is_expected_to_say_something() -> None:
    assert {path.stem for path in PAGES.glob("*.html")} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_page_has_its_title_and_its_text(name: str) -> None:
    made = score(name)

    assert made["title"]
    assert made["language"]
    assert made["canonical_url"]
    assert made[f"holds {EXPECTED[name].holds[0]}"]


def test_the_score_of_all_pages() -> None:
    made = {f"{name}: {what}": right for name in EXPECTED for what, right in score(name).items()}
    wrong = {what for what, right in made.items() if not right}
    right = len(made) - len(wrong)
    print(
        f"\nextraction: {right} of {len(made)} right ({right / len(made):.1%}) on {len(EXPECTED)} pages; not: {wrong}"
    )

    assert wrong <= UNREAD
