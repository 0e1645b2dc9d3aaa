import { expect, test } from "vitest";

import { configOf, threshold, thresholdOf, thresholdText, typedOf } from "./kinds";

test("empty settings are left out, and a port is a number", () => {
  const typed = { to: "a@x.example, b@x.example", from: "f@x.example", host: "mail.example", password: " " };
  expect(configOf("email", typed)).toEqual({
    to: ["a@x.example", "b@x.example"],
    from: "f@x.example",
    host: "mail.example",
    port: 587,
    tls: "starttls",
  });
});

test("the settings of a channel are typed and read back", () => {
  const config = {
    to: ["a@x.example", "b@x.example"],
    from: "f@x.example",
    host: "mail.example",
    port: 25,
    tls: "none",
  };
  expect(configOf("email", typedOf({ ...config, password: "***" }))).toEqual({ ...config, password: "***" });
});

test("a port that is no number reaches the server, which says so", () => {
  expect(configOf("email", { port: "smtp" })).toMatchObject({ port: "smtp" });
});

test("a threshold in words", () => {
  expect(threshold({ in_a_row: 1 })).toBe("every failure");
  expect(threshold({ in_a_row: 3 })).toBe("3 failures in a row");
  expect(threshold({ count: 5, within: "1h" })).toBe("5 failures within 1h");
});

test("a threshold is typed and read back", () => {
  for (const text of ["3", "5 within 1h"]) {
    const read = thresholdOf(text);
    expect(thresholdText(read as Parameters<typeof thresholdText>[0])).toBe(text);
  }
  expect(thresholdOf("some")).toEqual({ count: 0, within: "some" });
});
