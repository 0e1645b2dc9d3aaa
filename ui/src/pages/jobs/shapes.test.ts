import { expect, test } from "vitest";

import type { Job } from "@/api/calls";

import { byDomain, parts, pasted } from "./shapes";

test("what was pasted is taken apart, each URL once", () => {
  expect(pasted(" https://a.test/1\nhttps://a.test/2, https://a.test/1\n\n")).toEqual([
    "https://a.test/1",
    "https://a.test/2",
  ]);
});

test("a band counts what came from the cache once", () => {
  const job = { completed: 83, cached: 22, failed: 3, pending: 14 } as Job;
  expect(parts(job).map((one) => one.count)).toEqual([61, 22, 3, 14]);
});

test("hosts stand by the number of their pages, also one whose URL cannot be read", () => {
  const read = [{ url: "https://a.test/1" }, { url: "https://b.test/1" }, { url: "https://b.test/2" }];
  expect(byDomain(read, [{ url: "https://a.test/x" }, { url: "nonsense" }])).toEqual([
    { host: "a.test", read: 1, failed: 1 },
    { host: "b.test", read: 2, failed: 0 },
    { host: "nonsense", read: 0, failed: 1 },
  ]);
});
