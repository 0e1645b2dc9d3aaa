import { expect, test } from "vitest";

import type { Endpoint } from "@/api/calls";

import { calling, choices, letters, moment, unkept } from "./target";

const down = { url: "https://a.example/in", failing_from: "2027-01-04T12:00:00Z" } as Endpoint;
const well = { url: "https://a.example/in", failing_from: null } as Endpoint;

test("a target is quoted only where it must be", () => {
  expect(calling("https://a.example/in")).toBe("target:https://a.example/in");
  expect(calling("https://a.example/{{ date }},x")).toBe('target:"https://a.example/{{ date }},x"');
});

test("recovering asks for letters, and for failures that left none and were not retried", () => {
  expect(letters("https://a/", "1h")).toBe("target:https://a/ since:1h");
  expect(unkept("https://a/", "1h")).toBe("target:https://a/ since:1h state:failed -repeated:true -test:true");
});

test("whoever fails now is recovered from where it began", () => {
  expect(choices(down).map(([id]) => id)).toEqual(["failing", "1h", "24h", "7d", "other"]);
  expect(moment(down, "failing", "")).toBe("2027-01-04T12:00:00Z");
  expect(choices(well).map(([id]) => id)).toEqual(["1h", "24h", "7d", "other"]);
  expect(moment(well, "7d", "3h")).toBe("7d");
  expect(moment(well, "other", " 3h state:x ")).toBe("3hstate:x");
  expect(moment(well, "other", " ")).toBeNull();
});
