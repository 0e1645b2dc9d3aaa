import { useState } from "react";

import { newIdempotencyKey, send } from "@/api/client";
import { usePermission, useRefusal, useSession } from "@/api/session";
import { Button } from "@/parts/Button";
import { ErrorCard } from "@/parts/ErrorCard";
import { Segments } from "@/parts/Segments";
import { useNavigateTo } from "@/parts/useUrl";
import { number } from "@/time/moment";

import { parseUrls } from "./job";

/** A form that submits pasted URLs as articles or as a crawl. */
export function SubmitForm() {
  const [text, setText] = useState("");
  const [what, setWhat] = useState<"articles" | "crawl">("articles");
  const [spider, setSpider] = useState("seo");
  const [priority, setPriority] = useState("5");
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const [idempotencyKey, setIdempotencyKey] = useState(newIdempotencyKey);
  const go = useNavigateTo();
  const scrapyd = useSession()?.features?.scrapyd ?? false;
  const mayCrawl = usePermission("run:crawl");
  const urls = parseUrls(text);
  const refused = useRefusal(mayCrawl ? undefined : "run:article");
  const submit = async (): Promise<void> => {
    setBusy(true);
    setError(null);
    try {
      const { job_id } =
        what === "articles"
          ? await send("POST", "/jobs/submit", {
              body: { articles: urls.map((url) => ({ url, priority: Number(priority) })) },
              idempotencyKey,
            })
          : await send("POST", "/crawl", {
              body: { spider, start_urls: urls, priority: Number(priority) },
              idempotencyKey,
            });
      go(`/crawls/${job_id}`);
    } catch (refused) {
      setError(refused);
      setIdempotencyKey(newIdempotencyKey());
    } finally {
      setBusy(false);
    }
  };
  return (
    <form
      className="flex flex-col gap-3 rounded-lg border bg-bg p-4"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <textarea
        aria-label="URLs, one per line"
        value={text}
        onChange={(event) => setText(event.target.value)}
        rows={Math.min(Math.max(text.split("\n").length, 2), 10)}
        placeholder={"https://example.com/news/1\nhttps://example.com/news/2"}
        spellCheck={false}
        className="w-full rounded border bg-bg p-2 font-mono text-xs"
      />
      <div className="flex flex-wrap items-center gap-3 text-sm">
        {scrapyd && mayCrawl ? (
          <Segments
            label="Action"
            value={what}
            onChange={setWhat}
            choices={[
              ["articles", "Extract articles"],
              ["crawl", "Run spider"],
            ]}
          />
        ) : null}
        {what === "crawl" ? (
          <label className="flex items-center gap-2">
            Spider
            <input
              value={spider}
              onChange={(event) => setSpider(event.target.value)}
              className="h-7 w-32 rounded border bg-bg px-2 font-mono text-xs"
            />
          </label>
        ) : null}
        <label className="flex items-center gap-2">
          Priority
          <select
            value={priority}
            onChange={(event) => setPriority(event.target.value)}
            className="h-7 rounded border bg-bg px-1"
          >
            {Array.from({ length: 10 }, (_, index) => String(index + 1)).map((one) => (
              <option key={one} value={one}>
                {one === "1" ? "1 (most urgent)" : one === "5" ? "5 (normal)" : one === "10" ? "10 (lowest)" : one}
              </option>
            ))}
          </select>
        </label>
        <Button
          type="submit"
          kind="primary"
          className="ml-auto"
          busy={busy}
          disabled={!urls.length || refused !== null}
          title={refused ?? undefined}
        >
          {what === "articles" ? (urls.length > 1 ? `Extract ${number(urls.length)} articles` : "Extract") : "Crawl"}
        </Button>
      </div>
      {error ? <ErrorCard error={error} what="Could not submit" bar /> : null}
    </form>
  );
}
