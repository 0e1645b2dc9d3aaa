import { expect, test } from "vitest";

import type { EndpointHealth } from "@/api/schema";

import { deadLetterFilter, failedRunFilter, sinceChoices, sinceValue, targetFilter } from "./target";

const down = { url: "https://a.example/in", failing_from: "2027-01-04T12:00:00Z" } as EndpointHealth;
const well = { url: "https://a.example/in", failing_from: null } as EndpointHealth;

test("a target is quoted only where it must be", () => {
  expect(targetFilter("https://a.example/in")).toBe("target:https://a.example/in");
  expect(targetFilter("https://a.example/{{ date }},x")).toBe('target:"https://a.example/{{ date }},x"');
});

test("recovering asks for letters, and for failures that left none and were not retried", () => {
  expect(deadLetterFilter("https://a/", "1h")).toBe("target:https://a/ since:1h");
  expect(failedRunFilter("https://a/", "1h")).toBe("target:https://a/ since:1h state:failed -repeated:true -test:true");
});

test("whoever fails now is recovered from where it began", () => {
  expect(sinceChoices(down).map(([id]) => id)).toEqual(["failing", "1h", "24h", "7d", "other"]);
  expect(sinceValue(down, "failing", "")).toBe("2027-01-04T12:00:00Z");
  expect(sinceChoices(well).map(([id]) => id)).toEqual(["1h", "24h", "7d", "other"]);
  expect(sinceValue(well, "7d", "3h")).toBe("7d");
  expect(sinceValue(well, "other", " 3h state:x ")).toBe("3hstate:x");
  expect(sinceValue(well, "other", " ")).toBeNull();
});
