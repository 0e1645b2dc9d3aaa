import { expect, test } from "vitest";

import { LONGEST_NAME, MOST_VIEWS, nameError, readViews, type View } from "./views";

const FAILED: View = { name: "Failed", q: "state:failed" };

test("what is kept is read again, and what is no view is left out", () => {
  expect(readViews(JSON.stringify([FAILED]))).toEqual([FAILED]);
  expect(readViews(null)).toEqual([]);
  expect(readViews("{")).toEqual([]);
  expect(readViews('{"name":"x"}')).toEqual([]);
  expect(
    readViews(JSON.stringify([null, 1, { name: "", q: "x" }, { name: "x", q: "" }, { name: 1, q: 2 }, FAILED])),
  ).toEqual([FAILED]);
  expect(
    readViews(JSON.stringify(Array.from({ length: 99 }, (_, index) => ({ name: `v${index}`, q: "x" })))),
  ).toHaveLength(MOST_VIEWS);
});

test("a name is needed once", () => {
  expect(nameError([FAILED], "Late", ["All"])).toBeNull();
  expect(nameError([FAILED], "  ", [])).toMatch("name");
  expect(nameError([FAILED], "failed ", [])).toMatch("already");
  expect(nameError([FAILED], "all", ["All"])).toMatch("already");
  expect(nameError([FAILED], "x".repeat(LONGEST_NAME + 1), [])).toMatch("characters");
  expect(nameError([FAILED], "FAILED", [], "Failed")).toBeNull();
});

test("there is an end to how many", () => {
  const many = Array.from({ length: MOST_VIEWS }, (_, index) => ({ name: `v${index}`, q: "x" }));
  expect(nameError(many, "one more", [])).toMatch("Remove one");
  expect(nameError(many, "other", [], "v1")).toBeNull();
});
