"""The price on a page: in every form in which shops write it, and nothing else taken for one."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foliot.pages.price import DEAREST, FoundPrice, amount, currency, find_price, read_text
from foliot.pages.selectors import compiled


def page(body: str, head: str = "") -> bytes:
    return f"<!doctype html><html><head>{head}</head><body>{body}</body></html>".encode()


def ld(document: Any) -> str:
    return f'<script type="application/ld+json">{json.dumps(document)}</script>'


def offer(price: Any, **more: Any) -> dict[str, Any]:
    return {"@type": "Offer", "price": price, "priceCurrency": "EUR", **more}


def product(offers: Any) -> dict[str, Any]:
    return {"@context": "https://schema.org", "@type": "Product", "name": "Kettle", "offers": offers}


# --- where it stands --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("document", "price"),
    [
        (product(offer("19.99")), "19.99"),
        (product(offer(19.99)), "19.99"),
        (product([offer("19.99"), offer("5")]), "19.99"),
        ({"@graph": [{"@type": "WebPage"}, product(offer("1299.00"))]}, "1299.00"),
        ([{"@type": "Organization"}, product(offer("7"))], "7"),
        (product({"@type": "AggregateOffer", "lowPrice": "12.50", "priceCurrency": "EUR"}), "12.50"),
        (product({"@type": "Offer", "priceSpecification": {"price": 3, "priceCurrency": "EUR"}}), "3"),
        (product(offer("1.299,00")), "1299.00"),
        (product({**offer("8"), "@type": "http://schema.org/Offer"}), "8"),
        ({**product(offer("9")), "isRelatedTo": product(offer("1"))}, "9"),
    ],
)
def test_json_ld(document: Any, price: str) -> None:
    assert find_price(page(ld(document))) == FoundPrice(Decimal(price), "EUR", "json_ld")


@pytest.mark.parametrize(
    ("body", "price"),
    [
        ('<b itemprop="price" content="19.99">19,99 €</b><i itemprop="priceCurrency" content="EUR"></i>', "19.99"),
        ('<div itemscope><span itemprop="price">19,99 €</span></div>', "19.99"),
        ('<meta itemprop="lowPrice" content="5"><meta itemprop="priceCurrency" content="EUR">', "5"),
    ],
)
def test_microdata(body: str, price: str) -> None:
    assert find_price(page(body)) == FoundPrice(Decimal(price), "EUR", "microdata")


def test_open_graph() -> None:
    head = (
        '<meta property="product:price:amount" content="19.99"><meta property="product:price:currency" content="EUR">'
    )
    assert find_price(page("", head)) == FoundPrice(Decimal("19.99"), "EUR", "open_graph")
    head = '<meta property="og:price:amount" content="1,299.00"><meta property="og:price:currency" content="usd">'
    assert find_price(page("", head)) == FoundPrice(Decimal("1299.00"), "USD", "open_graph")


def test_selectors_where_the_page_says_nothing_to_machines() -> None:
    shop = page('<p class="old">25,00 €</p><p class="now">19,99 €</p>')

    assert find_price(shop) is None
    assert find_price(shop, selectors=["p.now"]) == FoundPrice(Decimal("19.99"), "EUR", "selector")
    assert find_price(page('<p class="price">19,99 €</p>')) == FoundPrice(Decimal("19.99"), "EUR", "selector")
    assert find_price(page('<p data-price="19.99">only 19,99 €!</p>')) == FoundPrice(
        Decimal("19.99"), "EUR", "selector"
    )


def test_what_the_page_says_to_machines_goes_before_what_it_shows() -> None:
    graph = '<meta property="product:price:amount" content="3">'
    everything = ld(product(offer("1"))) + '<b itemprop="price" content="2"></b>' + '<b class="price">4 €</b>'
    found = []
    for body in (everything, everything.partition("</script>")[2], '<b class="price">4 €</b>'):
        one = find_price(page(body, graph))
        assert one is not None
        found.append((one.source, one.price))
    last = find_price(page('<b class="price">4 €</b>'))

    assert found == [("json_ld", Decimal(1)), ("microdata", Decimal(2)), ("open_graph", Decimal(3))]
    assert last is not None
    assert (last.source, last.price) == ("selector", Decimal(4))


def test_a_page_whose_machine_words_are_broken_is_read_on() -> None:
    broken = '<script type="application/ld+json">{"@type": "Product", </script><b class="price">4 €</b>'

    assert find_price(page(broken)) == FoundPrice(Decimal(4), "EUR", "selector")


@pytest.mark.parametrize("body", [b"", b"   ", b"\x00\x01", b"<", b"plain text", b"<html></html>", b"\xff\xfe" * 50])
def test_what_is_no_page_has_no_price(body: bytes) -> None:
    assert find_price(body) is None


@pytest.mark.parametrize("said", ["iso-8859-15", "utf-8", None, "no-such-charset"])
def test_the_charset_that_the_answer_names_is_used(said: str | None) -> None:
    text = '<html><body><b class="price">19,99 €</b></body></html>'
    coded = text.encode("iso-8859-15" if said == "iso-8859-15" else "utf-8")

    found = find_price(coded, f"text/html; charset={said}" if said else "text/html")

    assert found is not None
    assert found.price == Decimal("19.99")
    assert found.currency == "EUR"


def test_a_shop_that_mislabels_its_page_is_read() -> None:
    words = "Быстрый чайник из нержавеющей стали, доставка завтра. " * 3
    shop = f'<html><body><p>{words}</p><b class="Цена">1299,00 EUR</b></body></html>'.encode("windows-1251")

    found = find_price(shop, "text/html; charset=utf-8", [".Цена"])

    assert found == FoundPrice(Decimal("1299.00"), "EUR", "selector")


def test_a_deep_document_is_not_followed_to_its_end() -> None:
    deep: Any = offer("1")
    for _ in range(300):
        deep = {"inner": deep}

    assert find_price(page(ld(deep))) is None
    assert find_price(page('<script type="application/ld+json">' + "[" * 100_000 + "</script>")) is None


# --- how it is written ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "price", "sign"),
    [
        ("22 000,50 kr", "22000.50", "kr"),
        ("Rs. 1,00,000", "100000", "Rs"),
        ("1.299,00 €", "1299", "EUR"),
        ("$1,299.00", "1299", "$"),
        ("£3", "3", "GBP"),
        ("now only  12.5 EUR", "12.5", "EUR"),
        ("USD 1,234,567.89", "1234567.89", "USD"),
    ],
)
def test_what_people_read(text: str, price: str, sign: str) -> None:
    assert read_text(text) == (Decimal(price), sign)


@pytest.mark.parametrize("text", ["", "free", "call us", "x" * 500, "-", "€", "0", "0.00 €", str(DEAREST)])
def test_what_is_no_price(text: str) -> None:
    assert read_text(text)[0] is None


@pytest.mark.parametrize("value", [None, True, False, [], {}, "", float("nan"), float("inf"), -1, 0, 10**13, "1e400"])
def test_what_a_machine_wrote_and_is_no_price(value: object) -> None:
    assert amount(value) is None


PRICES = st.decimals("0.01", "9999999.99", places=2)


@given(PRICES)
def test_a_plain_number_is_itself(price: Decimal) -> None:
    assert amount(str(price)) == price
    assert amount(f" {price} ") == price


@settings(max_examples=200)
@given(
    PRICES,
    st.sampled_from(
        [
            (",", ".", "$", ""),
            (".", ",", "", " €"),
            (" ", ",", "", " €"),
            ("\u00a0", ",", "", " €"),
            ("\u202f", ",", "", " €"),
            (",", ".", "£", ""),
            ("", ".", "USD ", ""),
            ("", ",", "", " PLN"),
        ]
    ),
)
def test_the_same_price_in_the_ways_of_many_countries(price: Decimal, way: tuple[str, str, str, str]) -> None:
    thousands, decimal, before, after = way
    written = f"{price:,.2f}".replace(",", "T").replace(".", "D").replace("T", thousands).replace("D", decimal)

    assert read_text(f"{before}{written}{after}")[0] == price


@settings(max_examples=200)
@given(st.binary(max_size=400), st.sampled_from([None, "utf-8", "utf-16", "latin-1", "nonsense"]))
def test_whatever_a_server_sends_a_price_is_sane_or_there_is_none(body: bytes, charset: str | None) -> None:
    found = find_price(b"<html><body><p class=price>" + body, f"text/html; charset={charset}" if charset else "")

    assert found is None or (found.price.is_finite() and 0 < found.price < DEAREST and len(found.currency) <= 8)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["@type", "@graph", "offers", "price", "lowPrice", "priceSpecification", "priceCurrency", "x"]
            ),
            inner,
            max_size=6,
        )
    ),
    max_leaves=25,
)


@settings(max_examples=100)
@given(JSON)
def test_whatever_a_page_says_to_machines_is_survived(document: Any) -> None:
    found = find_price(page(ld(document)))

    assert found is None or (0 < found.price < DEAREST and len(found.currency) <= 8)


def test_selectors_are_checked() -> None:
    assert compiled("p.now")
    for wrong in ("p[", "::", "a:frob()", "p >> q"):
        with pytest.raises(ValueError, match="not a CSS selector"):
            compiled(wrong)


@pytest.mark.parametrize(
    "selector",
    ["p.now::text", "p.old::text, p.now::text", "i::attr(data-amount)", "//p[@class='now']", "(string(//p[2]))"],
)
def test_a_price_is_found_by_every_kind_of_selector(selector: str) -> None:
    shop = page('<p class="old">sold out</p><p class="now">19,99 €</p><i data-amount="19.99">€</i>')

    found = find_price(shop, selectors=[selector])

    assert found is not None
    assert found.price == Decimal("19.99")


def test_currencies_have_one_name() -> None:
    assert [currency(text) for text in ("eur", "€", " EUR ", "$", "kr", "zł", "")] == [
        "EUR",
        "EUR",
        "EUR",
        "$",
        "kr",
        "PLN",
        "",
    ]
