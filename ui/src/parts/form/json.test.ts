import { expect, test } from "vitest";

import { parseJson, parseObject } from "./json";

test("text that is not JSON is refused with its line and column", () => {
  expect(parseJson('{\n  "a": 1,\n  b\n}').error).toBe("Invalid JSON: line 3, column 3");
  expect(parseObject("[1]").error).toContain("object");
  expect(parseObject("").value).toEqual({});
});
