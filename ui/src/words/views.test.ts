import { expect, test } from "vitest";

import { badName, LONGEST_NAME, MOST_VIEWS, readViews, renamed, type View, without, withView } from "./views";

const FAILED: View = { name: "Failed", q: "state:failed" };

test("what is kept is read again, and what is no view is left out", () => {
  expect(readViews(JSON.stringify(withView([], " Failed ", "state:failed")))).toEqual([FAILED]);
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
  expect(badName([FAILED], "Late", ["All"])).toBeNull();
  expect(badName([FAILED], "  ", [])).toMatch("name");
  expect(badName([FAILED], "failed ", [])).toMatch("already");
  expect(badName([FAILED], "all", ["All"])).toMatch("already");
  expect(badName([FAILED], "x".repeat(LONGEST_NAME + 1), [])).toMatch("characters");
  expect(badName([FAILED], "FAILED", [], "Failed")).toBeNull();
});

test("there is an end to how many", () => {
  const many = Array.from({ length: MOST_VIEWS }, (_, index) => ({ name: `v${index}`, q: "x" }));
  expect(badName(many, "one more", [])).toMatch("remove one");
  expect(badName(many, "other", [], "v1")).toBeNull();
});

test("views are renamed and removed by their names", () => {
  const two = withView([FAILED], "Late", "late:true");
  expect(renamed(two, "Failed", "Broken ").map((one) => one.name)).toEqual(["Broken", "Late"]);
  expect(without(two, "Failed")).toEqual([{ name: "Late", q: "late:true" }]);
});
