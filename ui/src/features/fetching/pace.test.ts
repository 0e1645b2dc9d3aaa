import { expect, test } from "vitest";

import { paceOf } from "./pace";

test("a host's pace is its rate, or the longer interval that holds now", () => {
  expect(paceOf({ rate: 1, interval: 1, crawl_delay: null })).toBe("1/s");
  expect(paceOf({ rate: null, interval: 0, crawl_delay: null })).toBe("no limit");
  expect(paceOf({ rate: 1, interval: 2, crawl_delay: 2 })).toBe("every 2 s (robots.txt)");
  expect(paceOf({ rate: null, interval: 0.512, crawl_delay: null })).toBe("every 0.51 s");
});
