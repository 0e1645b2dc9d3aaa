import { expect, test } from "vitest";

import type { ScheduleChain } from "@/api/schema";

import { layOut } from "./chain";

const chain = (names: string[], links: [string, string][]): ScheduleChain => ({
  schedules: names.map((id) => ({
    id,
    name: id,
    type: "after",
    status: "active",
    summary: "",
    state: null,
    run_id: null,
  })),
  links: links.map(([parent, child]) => ({ parent, child, outcome: "success", all: false })),
});

test("a schedule stands right of all that it follows", () => {
  const { places, columns, rows } = layOut(
    chain(
      ["d", "a", "b", "c"],
      [
        ["a", "b"],
        ["a", "c"],
        ["b", "d"],
        ["c", "d"],
        ["a", "d"],
      ],
    ),
  );
  expect(places.get("a")).toEqual({ column: 0, row: 0 });
  expect(places.get("b")).toEqual({ column: 1, row: 0 });
  expect(places.get("c")).toEqual({ column: 1, row: 1 });
  expect(places.get("d")).toEqual({ column: 2, row: 0 });
  expect([columns, rows]).toEqual([3, 2]);
});

test("a chain of one has one place", () => {
  expect(layOut(chain(["a"], []))).toMatchObject({ columns: 1, rows: 1 });
});
