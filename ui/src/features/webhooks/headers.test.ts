import { expect, test } from "vitest";

import { parseHeaders } from "./headers";

test("headers are read line by line, and a line without a colon is named", () => {
  expect(parseHeaders("A: b\n\nC: d:e").value).toEqual({ A: "b", C: "d:e" });
  expect(parseHeaders("A: b\nnothing").error).toContain("Line 2");
});
