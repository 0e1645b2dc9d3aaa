import { expect, test } from "vitest";

import type { JobReport } from "@/api/schema";

import { parseUrls, progressParts } from "./job";

test("a pasted text is split into its URLs, without duplicates", () => {
  expect(parseUrls(" https://a.test/1\nhttps://a.test/2, https://a.test/1\n\n")).toEqual([
    "https://a.test/1",
    "https://a.test/2",
  ]);
});

test("the progress counts an article from the cache once", () => {
  const job = { completed: 83, cached: 22, failed: 3, pending: 14 } as JobReport;
  expect(progressParts(job).map((one) => one.count)).toEqual([61, 22, 3, 14]);
});
