import { expect, test } from "vitest";

import { inputOf, instantOf } from "./datetimeLocal";

test("a datetime-local value is read and written on the clock of the zone", () => {
  expect(inputOf("2027-01-01T08:00:00Z", "Europe/Stockholm")).toBe("2027-01-01T09:00");
  expect(instantOf("2027-01-01T09:00", "Europe/Stockholm")).toBe("2027-01-01T08:00:00.000Z");
  expect(instantOf("2027-07-01T09:00:30", "America/Los_Angeles")).toBe("2027-07-01T16:00:30.000Z");
  expect(instantOf("", "UTC")).toBeUndefined();
});
