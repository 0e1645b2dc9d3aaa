import { describe, expect, it } from "vitest";

import { calendarsIn, entriesOf, linesOf, withCalendar } from "./times";

describe("excluded times as lines", () => {
  const entries = [
    "calendar:SE",
    "2027-01-01/2027-01-06",
    { from: "22:00", to: "06:00" },
    { from: "09:00", to: "17:00", days: ["sat" as const, "sun" as const] },
    { days: ["fri" as const] },
  ];
  it("are read back as they were written", () => {
    expect(linesOf(entries)).toBe("calendar:SE\n2027-01-01/2027-01-06\n22:00-06:00\nsat,sun 09:00-17:00\nfri");
    expect(entriesOf(linesOf(entries))).toEqual(entries);
  });
  it("are sent as they are where they describe nothing", () => {
    expect(entriesOf("\n tomorrow \n")).toEqual(["tomorrow"]);
  });
  it("name calendars, which are added and taken away", () => {
    expect(calendarsIn("calendar:SE\n22:00-06:00")).toEqual(["SE"]);
    expect(withCalendar("22:00-06:00", "SE", true)).toBe("calendar:SE\n22:00-06:00");
    expect(withCalendar("calendar:SE\n22:00-06:00", "SE", false)).toBe("22:00-06:00");
  });
});
