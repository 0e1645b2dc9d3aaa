import { useQuery } from "@tanstack/react-query";
import { CircleCheck, CircleDashed } from "lucide-react";
import type { ReactNode } from "react";

import { ask } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import { usePermission, useSession } from "@/api/session";
import { Card } from "@/parts/Card";
import { CopyButton } from "@/parts/copy/CopyButton";
import { Link } from "@/parts/Link";
import { Page } from "@/parts/Page";
import { number } from "@/time/moment";

const LINK = "inline-flex h-8 items-center rounded border bg-raised px-3 text-sm font-medium hover:bg-surface";

/** An introduction in three steps; each is ticked off as soon as it is done. */
export default function WelcomePage() {
  const session = useSession();
  const schedules = useQuery({
    queryKey: ["schedules", "any"],
    queryFn: ({ signal }) => ask("/api/suggest", { query: { field: "schedule", limit: 1 }, signal }),
    refetchInterval: 3000,
  });
  const runs = useQuery({
    queryKey: queryKeys.runsCount({ q: "" }),
    queryFn: ({ signal }) => ask("/api/runs/count", { signal }),
    refetchInterval: 3000,
  });
  const mayKeys = usePermission("write:key");
  const local = session?.mode === "local";
  const made = (schedules.data?.items.length ?? 0) > 0;
  const ran = runs.data?.count ?? 0;
  const curl = `curl -sS ${window.location.origin}/api/schedules`;
  return (
    <Page title="Welcome">
      <p className="max-w-[72ch] text-base text-muted">
        Foliot runs scheduled web work on time, once per scheduled time, and shows what happened and why. Get started in
        three steps.
      </p>
      <Step done={made} title="1. Create a schedule">
        <p>
          Say when in plain English, and what to call.{" "}
          {local ? "A receiver is built in, so you need nothing else." : ""} {made ? "Done: you have one already." : ""}
        </p>
        <div className="flex flex-wrap gap-2">
          <Link to="/schedules/new" className={LINK}>
            New schedule
          </Link>
          <Link to="/crawls" className={LINK}>
            Fetch some pages
          </Link>
        </div>
      </Step>
      <Step done={ran > 0} title="2. See it run">
        <p>
          {ran
            ? `${number(ran)} ${ran === 1 ? "run" : "runs"} so far, each with its log, attempts and outcome.`
            : "Runs appear here when a schedule is due, or when you press Run now."}
        </p>
        <div className="flex flex-wrap gap-2">
          <Link to="/runs" className={LINK}>
            Runs
          </Link>
          <Link to="/" className={LINK}>
            Overview
          </Link>
        </div>
      </Step>
      <Step title="3. Do the same from code" done={false}>
        <p>Every click is an API call: “Copy as” shows it for curl, the command line and Python.</p>
        <div className="flex max-w-full items-center gap-2 rounded border bg-surface p-2">
          <code className="min-w-0 flex-1 font-mono text-xs break-all">{curl}</code>
          <CopyButton text={curl} />
        </div>
        <div className="flex flex-wrap gap-2">
          {mayKeys ? (
            <Link to="/settings/keys" className={LINK}>
              Create API key
            </Link>
          ) : null}
          <a href="/docs" className={LINK}>
            API reference
          </a>
        </div>
      </Step>
    </Page>
  );
}

function Step({ title, done, children }: { title: string; done: boolean; children: ReactNode }) {
  const Icon = done ? CircleCheck : CircleDashed;
  return (
    <Card>
      <div className="flex gap-3">
        <Icon
          size={20}
          aria-label={done ? "done" : "to do"}
          role="img"
          className={done ? "mt-0.5 shrink-0 text-success-ink" : "mt-0.5 shrink-0 text-muted"}
        />
        <div className="flex min-w-0 flex-col gap-3">
          <h2 className="text-lg font-semibold">{title}</h2>
          {children}
        </div>
      </div>
    </Card>
  );
}
