import { expect, test } from "vitest";

import { articleLineOf, parseArticleLine } from "./articleLine";

test("an article is a URL and what follows it after a comma and a blank", () => {
  expect(parseArticleLine("http://h/a?x=1,2")).toEqual({ url: "http://h/a?x=1,2" });
  expect(parseArticleLine("http://h/a, BBC, news, 2")).toEqual({
    url: "http://h/a",
    source: "BBC",
    category: "news",
    priority: 2,
  });
  expect(articleLineOf({ url: "u", source: "", category: "news", priority: 5 })).toBe("u, , news");
});
