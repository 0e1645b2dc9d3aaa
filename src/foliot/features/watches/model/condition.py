"""The conditions of watches (`when`): a small typed grammar with a hand-written parser; nothing is ever executed.

condition := and ("or" and)*          and := not ("and" not)*          not := "not" not | comparison
comparison := value (("<" | "<=" | ">" | ">=" | "==" | "!=") value)?
value := number | "text" | true | false | old.field | new.field | field | function(…) | "(" condition ")"
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from foliot.core.errors import Invalid
from foliot.features.watches.model.condition_nodes import (
    COMPARE,
    Condition,
    Node,
    ValueType,
    compare,
    constant,
    field_value,
    found_in,
    has_changed,
    join,
    moved,
)

MOST_CHARACTERS = 1000
DEEPEST = 20
TEXT = "text"
"""The name of the compared text of a page."""
_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d+)?)(?P<percent>\s?%)?"
    r"|(?P<text>\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')"
    r"|(?P<name>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)?)"
    r"|(?P<sign><=|>=|==|!=|<|>|=|\(|\)|,|-))"
)


@dataclass(frozen=True, slots=True)
class Token:
    """A word of a condition, with its position."""

    kind: str
    text: str
    start: int
    end: int


def parse_condition(source: str, types: Mapping[str, ValueType], where: str = "when") -> Condition:
    """The condition; `Invalid` names the position of the first error. `types` has each field's type."""
    if len(source) > MOST_CHARACTERS:
        raise Invalid(where, f"must be at most {MOST_CHARACTERS} characters", got=f"{len(source)} characters")
    parser = _Parser(source, where, types)
    parser.tokens = parser.read_tokens()
    node = parser.condition(0)
    if parser.token is not None:
        raise parser.wrong(parser.token, "is not expected here: join conditions by `and` or `or`")
    if node.type is not ValueType.TRUTH:
        raise parser.at(node, f"is a {node.type}, and a condition is true or false: compare it, as in price < 30")
    return Condition(source, node)


@dataclass(slots=True)
class _Parser:
    source: str
    where: str
    types: Mapping[str, ValueType]
    tokens: list[Token] = field(default_factory=list)
    place: int = 0

    def read_tokens(self) -> list[Token]:
        tokens, at = [], 0
        while at < len(self.source.rstrip()):
            found = _TOKEN.match(self.source, at)
            if found is None:
                start = at + len(self.source[at:]) - len(self.source[at:].lstrip())
                quote = self.source[start] in "\"'"
                token = Token("", self.source[start : start + 20], start, len(self.source) if quote else start + 1)
                raise self.wrong(
                    token, "is a quote that is never closed" if quote else "does not belong in a condition"
                )
            kind = str(found.lastgroup) if found["percent"] is None else "percent"
            text = found[kind if kind != "percent" else "number"]
            tokens.append(Token(kind, text, found.start(found.lastgroup or 0), found.end()))
            if kind == "percent":
                tokens[-1] = Token(kind, text, found.start("number"), found.end())
            at = found.end()
        return tokens

    @property
    def token(self) -> Token | None:
        return self.tokens[self.place] if self.place < len(self.tokens) else None

    def wrong(self, token: Token | None, message: str, better: str | None = None) -> Invalid:
        end = len(self.source)
        start, stop = (end, end) if token is None else (token.start, token.end)
        got = self.source[start:stop] or None
        meant = None if better is None else f"{self.source[:start]}{better}{self.source[stop:]}"
        said = f"at column {start + 1}: {got if got is not None else 'the end'} {message}"
        return Invalid(self.where, said, got=got, position=(start, stop), suggestion=meant)

    def at(self, node: Node, message: str) -> Invalid:
        return self.wrong(Token("", "", node.start, node.end), message)

    def takes(self, *words: str) -> Token | None:
        """The next token, taken, if it is one of these words or signs."""
        token = self.token
        if token is None or token.kind == "text" or token.text not in words:
            return None
        self.place += 1
        return token

    def expect(self, sign: str) -> Token:
        token = self.takes(sign)
        if token is None:
            raise self.wrong(self.token, f"is where {sign} is expected")
        return token

    def condition(self, depth: int) -> Node:
        return self._joined("or", partial(self._joined, "and", partial(self._negated, depth)))

    def _joined(self, word: str, part: Callable[[], Node]) -> Node:
        left = part()
        while self.takes(word):
            right = part()
            left = join(word, self._truth(left), self._truth(right))
        return left

    def _truth(self, node: Node) -> Node:
        if node.type is not ValueType.TRUTH:
            raise self.at(node, f"is a {node.type}, and must be true or false here: compare it, as in price < 30")
        return node

    def _negated(self, depth: int) -> Node:
        if depth > DEEPEST:
            raise self.wrong(self.token, f"is nested more than {DEEPEST} deep")
        if word := self.takes("not"):
            inner = self._truth(self._negated(depth + 1))
            return Node(ValueType.TRUTH, lambda visit: inner.value(visit) is False, word.start, inner.end)
        return self._comparison(depth)

    def _comparison(self, depth: int) -> Node:
        left = self._value(depth)
        sign = self.takes(*COMPARE, "=")
        if sign is None:
            return left
        if sign.text == "=":
            raise self.wrong(sign, "is not a comparison: write == for equal", "==")
        right = self._value(depth)
        if left.type is not right.type:
            raise self.at(right, f"is a {right.type}, and is compared with a {left.type}")
        if left.type in {ValueType.LIST, ValueType.TRUTH} and sign.text not in {"==", "!="}:
            raise self.wrong(sign, f"does not compare a {left.type}: use == or !=")
        return compare(sign.text, left, right)

    def _value(self, depth: int) -> Node:
        token = self.token
        if token is None:
            raise self.wrong(None, "is where a value is expected")
        self.place += 1
        if token.kind == "number":
            return constant(ValueType.NUMBER, float(token.text), token.start, token.end)
        if token.kind == "percent":
            raise self.wrong(token, "is a share: drops and rises take one, as in drops(price, 10%)")
        if token.kind == "text":
            return constant(ValueType.TEXT, _unquoted(token.text), token.start, token.end)
        return self._name(token, depth) if token.kind == "name" else self._signed(token, depth)

    def _signed(self, token: Token, depth: int) -> Node:
        """A negative number, or a condition in parentheses."""
        if token.text == "-" and self.token is not None and self.token.kind == "number":
            self.place += 1
            number = self.tokens[self.place - 1]
            value = -float(number.text)
            return Node(ValueType.NUMBER, lambda _: value, token.start, number.end)
        if token.text == "(":
            inner = self.condition(depth + 1)
            end = self.expect(")")
            return Node(inner.type, inner.value, token.start, end.end)
        raise self.wrong(token, 'is not expected here: a value is, such as price, new.price, 30 or "sold out"')

    def _name(self, token: Token, depth: int) -> Node:
        following = self.token
        if following is not None and following.text == "(" and following.kind == "sign":
            return self._function(token, depth)
        if token.text in {"true", "false"}:
            return constant(ValueType.TRUTH, token.text == "true", token.start, token.end)
        if token.text == "removed" and "removed" not in self.types:
            return Node(ValueType.TRUTH, lambda visit: visit.removed, token.start, token.end)
        if token.text in _FUNCTIONS and token.text not in self.types:
            raise self.wrong(token, f"is a function: write {token.text}({_FUNCTIONS[token.text]})")
        side, dot, name = token.text.partition(".")
        side, name = (side, name) if dot else ("new", token.text)
        if side not in {"old", "new"}:
            raise self.wrong(token, "is not a value: write old.field, new.field or field")
        kind = self.types.get(name)
        if kind is None:
            others = () if dot else ("removed", *_FUNCTIONS)
            close = difflib.get_close_matches(name, self.types, n=1) or difflib.get_close_matches(name, others, n=1)
            known = ", ".join(self.types) or "none"
            better = f"{side}.{close[0]}" if close and dot else (close[0] if close else None)
            hint = f"did you mean {better}? " if better else ""
            raise self.wrong(token, f"is not a field of this watch; {hint}Its fields are {known}", better)
        return Node(kind, partial(field_value, side, name, kind), token.start, token.end, (side, name))

    def _function(self, token: Token, depth: int) -> Node:
        name = token.text
        if name not in _FUNCTIONS:
            close = difflib.get_close_matches(name, _FUNCTIONS, n=1)
            hint = f"did you mean {close[0]}? " if close else ""
            message = f"is not a function; {hint}There are {', '.join(_FUNCTIONS)}"
            raise self.wrong(token, message, close[0] if close else None)
        self.expect("(")
        arguments: list[Node] = []
        while self.token is not None and self.token.text != ")":
            if arguments:
                self.expect(",")
            arguments.append(self._argument(depth + 1))
        end = self.expect(")")
        whole = Token("", name, token.start, end.end)
        if name == "changed":
            return self._changed(whole, arguments)
        if name in {"drops", "rises"}:
            return self._moves(whole, name, arguments)
        return self._appears(whole, name, arguments)

    def _argument(self, depth: int) -> Node:
        token = self.token
        if token is not None and token.kind == "percent":
            self.place += 1
            share = float(token.text) / 100
            return Node(ValueType.NUMBER, lambda _: share, token.start, token.end, percent=True)
        if depth > DEEPEST:
            raise self.wrong(token, f"is nested more than {DEEPEST} deep")
        return self._value(depth)

    def _changed(self, whole: Token, arguments: list[Node]) -> Node:
        if not arguments:
            return Node(ValueType.TRUTH, lambda visit: visit.changed, whole.start, whole.end)
        if len(arguments) > 1 or arguments[0].field is None:
            raise self.wrong(whole, "takes one field, as in changed(price), or none")
        name = arguments[0].field[1]
        return Node(ValueType.TRUTH, partial(has_changed, name), whole.start, whole.end)

    def _moves(self, whole: Token, name: str, arguments: list[Node]) -> Node:
        if not 1 <= len(arguments) <= 2 or arguments[0].field is None:
            raise self.wrong(whole, f"takes a field and a number or a share, as in {name}(price, 10%)")
        for each in arguments:
            if each.type is not ValueType.NUMBER:
                raise self.at(each, f"is a {each.type}, and {name} takes a number")
        by = arguments[1] if len(arguments) == 2 else None
        moves = partial(moved, arguments[0].field[1], by, -1 if name == "drops" else 1)
        return Node(ValueType.TRUTH, moves, whole.start, whole.end)

    def _appears(self, whole: Token, name: str, arguments: list[Node]) -> Node:
        if len(arguments) != 2 or arguments[0].field is None or arguments[1].type is not ValueType.TEXT:
            raise self.wrong(whole, f'takes a field and a text, as in {name}(text, "sold out")')
        if arguments[0].type not in {ValueType.TEXT, ValueType.LIST}:
            raise self.at(arguments[0], f"is a {arguments[0].type}, and {name} looks into a text or a list")
        return Node(
            ValueType.TRUTH, partial(found_in, name, arguments[0].field[1], arguments[1]), whole.start, whole.end
        )


_FUNCTIONS: Mapping[str, str] = {
    "changed": "price",
    "drops": "price, 10%",
    "rises": "price, 10%",
    "appears": 'text, "sold out"',
    "disappears": 'text, "sold out"',
    "contains": 'text, "sold out"',
}


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1])
