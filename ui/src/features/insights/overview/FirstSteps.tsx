import { CalendarClock } from "lucide-react";

import { useSession } from "@/api/session";
import { CopyButton } from "@/parts/copy/CopyButton";
import { curl } from "@/parts/copy/snippets";
import { Empty } from "@/parts/Empty";
import { Link } from "@/parts/Link";

const LINK = "inline-flex h-8 items-center rounded border bg-raised px-3 font-medium hover:bg-surface";

/** Shown while nothing is scheduled: three ways to begin, and a command to paste. */
export function FirstSteps() {
  const session = useSession();
  const { origin } = window.location;
  const command = curl(
    {
      method: "POST",
      path: "/api/schedules",
      body: {
        name: "first",
        type: "interval",
        interval_seconds: 60,
        action: { kind: "webhook", url: `${origin}/api/echo/first` },
      },
    },
    origin,
    session?.mode === "secured",
  );
  return (
    <Empty
      icon={CalendarClock}
      title="No schedules yet"
      actions={
        <>
          <Link
            to="/schedules/new"
            className="inline-flex h-8 items-center rounded bg-accent px-3 font-medium text-on-accent hover:opacity-90"
          >
            New schedule
          </Link>
          <Link to="/crawls" className={LINK}>
            Crawl a URL
          </Link>
          <Link to="/welcome" className={LINK}>
            Take the tour
          </Link>
        </>
      }
    >
      <p>Or from a shell:</p>
      <div className="relative mt-2 text-left">
        <pre
          tabIndex={0}
          className="overflow-auto rounded border bg-surface p-3 pr-10 font-mono text-xs whitespace-pre-wrap break-all text-ink"
        >
          {command}
        </pre>
        <div className="absolute top-1 right-1">
          <CopyButton text={command} />
        </div>
      </div>
    </Empty>
  );
}
