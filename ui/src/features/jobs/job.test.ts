import { describe, expect, it, test } from "vitest";

import type { JobReport } from "@/api/schema";

import { jobTitle, parseUrls, progressParts } from "./job";

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

describe("what a job is about", () => {
  const titled = (kind: string, about: Partial<NonNullable<JobReport["about"]>> | null): string =>
    jobTitle({ kind, about } as JobReport);
  it("is its host, spider or source, and how much", () => {
    expect(titled("articles", { host: "bbc.com", count: 40 })).toBe("bbc.com · 40 articles");
    expect(titled("articles", { host: "bbc.com", count: 1 })).toBe("bbc.com");
    expect(titled("crawl", { spider: "seo", host: "shop.example", count: 2 })).toBe("seo · shop.example · 2 URLs");
    expect(titled("articles", { source: "TechNews", count: 1200 })).toBe("TechNews · 1,200 articles");
    expect(titled("crawl", null)).toBe("crawl");
  });
});
