import { expect, test } from "vitest";

import { quoteValue, replaceToken, tokenAt, tokens, valueOf, withKey } from "./grammar";

test("words are parted by blanks, except inside quotes", () => {
  expect(
    tokens('state:failed -kind:crawl "two words" schedule:"my job"').map((one) => [one.key, one.value, one.negated]),
  ).toEqual([
    ["state", "failed", false],
    ["kind", "crawl", true],
    [null, '"two words"', false],
    ["schedule", '"my job"', false],
  ]);
});

test("the caret knows which word it is in, and which part of a list", () => {
  expect(tokenAt("state:fai", 9)).toMatchObject({ key: "state", value: "fai", valueFrom: 6 });
  expect(tokenAt("state:failed,de kind:x", 15)).toMatchObject({ key: "state", value: "de", valueFrom: 13, to: 15 });
  expect(tokenAt("sta", 3)).toMatchObject({ key: null, value: "sta" });
  expect(tokenAt("state:failed ", 13)).toMatchObject({ key: null, value: "", from: 13 });
});

test("a choice replaces only what was being typed", () => {
  expect(replaceToken("state:fai kind:x", 6, 9, "failed")).toEqual({ text: "state:failed kind:x", caret: 13 });
  expect(replaceToken("sta", 0, 3, "state:")).toEqual({ text: "state:", caret: 6 });
});

test("one key is set and removed, the rest stays", () => {
  expect(withKey('state:failed "a b" since:1h', "since", "7d")).toBe('state:failed "a b" since:7d');
  expect(withKey("state:failed since:1h", "state", null)).toBe("since:1h");
  expect(valueOf("-state:failed state:success", "state")).toBe("success");
  expect(quoteValue('a "b"')).toBe('"a \\"b\\""');
});
