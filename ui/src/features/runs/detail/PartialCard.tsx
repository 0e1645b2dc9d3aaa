import { useQuery } from "@tanstack/react-query";
import { RotateCcw } from "lucide-react";

import { ask } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import type { Run } from "@/api/schema";
import { usePermission } from "@/api/session";
import { Button } from "@/parts/Button";
import { Link } from "@/parts/Link";
import { StateIcon } from "@/parts/state/StateBadge";
import { useCommand } from "@/parts/useCommand";
import { useNavigateTo } from "@/parts/useUrl";
import { number } from "@/time/moment";

const REASONS = 3;

const countOf = (run: Run, name: string): number | null => {
  const value = (run.result as Record<string, unknown> | null)?.[name];
  return typeof value === "number" ? value : null;
};

/** Above the log of a run that finished in part: what failed, how much, why, and the button that retries it. */
export function PartialCard({ run }: { run: Run }) {
  const [act, busy] = useCommand();
  const go = useNavigateTo();
  const mayRun = usePermission("run:run");
  const articles = run.kind === "articles";
  const failed = countOf(run, "failed");
  const total = countOf(run, "total");
  const partial = run.state === "partial";
  const { data } = useQuery({
    queryKey: [...queryKeys.run(run.id), "failed-items"],
    queryFn: ({ signal }) =>
      ask("/jobs/{job_id}/results", { params: { job_id: run.id }, query: { limit: REASONS }, signal }),
    enabled: partial && articles,
    retry: false,
  });
  if (!partial) return null;
  const retry = async (): Promise<void> => {
    const made = await act("POST", "/api/runs/{run_id}/retry", { params: { run_id: run.id } }, "Retrying");
    if (made) go(`/runs/${made.id}`);
  };
  const items = data && "failed_articles" in data ? data.failed_articles.slice(0, REASONS) : [];
  return (
    <section
      aria-label="What failed"
      className="flex flex-wrap items-start gap-x-3 gap-y-2 rounded-lg border border-attention/50 bg-attention-tint p-3 text-attention-ink"
    >
      <StateIcon state={run.state} size={18} className="mt-0.5" />
      <div className="min-w-0 flex-1 basis-56">
        <p className="font-medium">{headline(run, failed, total)}</p>
        {items.length ? (
          <ul className="mt-1 flex flex-col gap-0.5 text-sm">
            {items.map((item) => (
              <li key={item.article_id} className="[overflow-wrap:anywhere]">
                <span className="font-mono text-xs">{item.url}</span> – {item.error}
              </li>
            ))}
            {failed !== null && failed > items.length ? <li>and {number(failed - items.length)} more</li> : null}
          </ul>
        ) : null}
      </div>
      <div className="flex flex-wrap gap-2">
        {articles || run.kind === "crawl" ? (
          <Link
            to={`/crawls/${run.id}`}
            className="inline-flex h-6 items-center rounded border bg-raised px-2 text-xs font-medium text-ink hover:bg-surface"
          >
            View results
          </Link>
        ) : null}
        {articles && failed && mayRun ? (
          <Button size="small" acts busy={busy} icon={<RotateCcw size={13} aria-hidden />} onClick={() => void retry()}>
            {failed === 1 ? "Retry the failed one" : `Retry the failed ${number(failed)}`}
          </Button>
        ) : null}
      </div>
    </section>
  );
}

function headline(run: Run, failed: number | null, total: number | null): string {
  if (failed === null) return run.error?.message ?? "Finished, but some items failed.";
  return total === null
    ? `${number(failed)} failed; the rest succeeded.`
    : `${number(failed)} of ${number(total)} failed; the rest succeeded.`;
}
