import { describe, expect, it } from "vitest";

import type { WatchDetail } from "@/api/schema";

import { blankForm, documentOf, formOf, freeName, patchOf, previewOf, typeOf } from "./form";

const WATCH: WatchDetail = {
  id: "wat_1",
  name: "Prices",
  urls: ["https://shop.example/1", "https://shop.example/2"],
  sitemap: null,
  feed: null,
  links: null,
  select: null,
  text: "whole",
  fields: { price: { type: "price", css: ".price" }, stock: { type: "number", json: "$.stock", optional: true } },
  ignore: [".ad", { regex: "\\d+ visitors" }, "dates"],
  when: "drops(price, 10%)",
  at: "crossing",
  schedule: { type: "interval", interval_seconds: 7200, priority: 8 },
  revisit: null,
  render: null,
  robots: null,
  keep_pages: "30d",
  session: null,
  browser: null,
  history: "365d",
  expect: null,
  tags: ["prices"],
  fed_by: null,
  schedule_id: "sch_1",
  status: "active",
  summary: "every 2 h",
  pages: 2,
  states: {},
  line: null,
  changes: 0,
  last_visit_at: null,
  last_change_at: null,
  next_visit_at: null,
  problem: null,
  feed_url: null,
  created_by: "me",
  created_at: "2026-01-01T00:00:00Z",
  updated_at: "2026-01-01T00:00:00Z",
};

describe("the form of a watch", () => {
  it("makes the document that it was made of", () => {
    expect(documentOf(formOf(WATCH, "UTC"))).toEqual({
      name: "Prices",
      urls: WATCH.urls,
      fields: WATCH.fields,
      ignore: WATCH.ignore,
      when: WATCH.when,
      at: "crossing",
      schedule: WATCH.schedule,
      keep_pages: "30d",
      tags: ["prices"],
    });
  });

  it("takes away what was cleared, and replaces the time", () => {
    const form = { ...formOf(WATCH, "UTC"), when: "", ignore: "", timing: "revisit" as const, budget: "60/hour" };
    const patch = patchOf(form);
    expect(patch).toMatchObject({ when: null, ignore: null, select: null, revisit: { budget: "60/hour" } });
    expect(patch).not.toHaveProperty("schedule");
  });

  it("previews without a name and a time", () => {
    const form = { ...blankForm("UTC"), source: "links" as const, from: "https://shop.example/", links: "a.product" };
    expect(previewOf(form)).toEqual({ links: { css: "a.product", from: "https://shop.example/" }, at: "crossing" });
  });

  it("guesses the type of a value and finds a free name", () => {
    expect(["29,90 €", "12", "Kettle"].map(typeOf)).toEqual(["price", "number", "text"]);
    const taken = formOf(WATCH, "UTC").fields;
    expect([freeName("price", taken), freeName("text", taken)]).toEqual(["price2", "title"]);
  });
});
