import { expect, it } from "vitest";

import { datesOf, datesText } from "./dates";

it("reads dates back as they were written", () => {
  const dates = ["2027-01-01", { date: "2027-07-01/2027-07-31", name: "Summer break" }];
  expect(datesText(dates)).toBe("2027-01-01\n2027-07-01/2027-07-31 Summer break");
  expect(datesOf(`${datesText(dates)}\n\n`)).toEqual(dates);
});
