import { expect, test } from "vitest";

import { countByHost } from "./hosts";

test("hosts stand by the number of their pages, also one whose URL cannot be read", () => {
  const read = [{ url: "https://a.test/1" }, { url: "https://b.test/1" }, { url: "https://b.test/2" }];
  expect(countByHost(read, [{ url: "https://a.test/x" }, { url: "nonsense" }])).toEqual([
    { host: "a.test", read: 1, failed: 1 },
    { host: "b.test", read: 2, failed: 0 },
    { host: "nonsense", read: 0, failed: 1 },
  ]);
});
