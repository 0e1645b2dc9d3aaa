import { describe, expect, it } from "vitest";

import { linesOf, shortNames, shortUrl, shownFields, shownValue } from "./values";

describe("values of fields", () => {
  it("shows prices, lists and missing values", () => {
    expect(shownValue({ amount: "24.90", currency: "EUR" })).toBe("24.90 EUR");
    expect(shownValue({ amount: "24.90", currency: null })).toBe("24.90");
    expect(shownValue(["red", "blue"])).toBe("red, blue");
    expect(shownValue(null)).toBe("nothing");
    expect(shownFields({ stock: { old: 3, new: null } })).toEqual(["stock: 3 → nothing"]);
  });

  it("shortens addresses to what pages differ in", () => {
    expect(shortUrl("https://shop.example/a?b=1")).toBe("shop.example/a?b=1");
    expect(shortUrl("https://shop.example/")).toBe("shop.example");
    expect(shortUrl("no address")).toBe("no address");
  });

  it("leaves out the host that all pages have", () => {
    const one = shortNames(["https://shop.example/a", "https://shop.example/b"]);
    expect(one("https://shop.example/a")).toBe("/a");
    const several = shortNames(["https://shop.example/a", "https://other.example/b"]);
    expect(several("https://shop.example/a")).toBe("shop.example/a");
    expect(shortNames(["https://shop.example/a"])("https://shop.example/a")).toBe("shop.example/a");
  });

  it("lets the last value stand until the page was last read", () => {
    const page = { page_id: "wpg_1", url: "https://shop.example/1", until: "2026-01-03T00:00:00Z" };
    const points = [{ at: "2026-01-01T00:00:00Z", value: 3 }];
    const plot = {
      field: "price",
      unit: "EUR",
      pages: [
        { ...page, points },
        { ...page, points: [] },
      ],
    };
    expect(linesOf(plot)).toEqual([
      {
        label: "/1",
        points: [
          { at: Date.UTC(2026, 0, 1), value: 3 },
          { at: Date.UTC(2026, 0, 3), value: 3 },
        ],
      },
    ]);
  });
});
