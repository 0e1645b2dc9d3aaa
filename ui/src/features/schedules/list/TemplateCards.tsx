import { CalendarClock } from "lucide-react";

import { CopyButton } from "@/parts/copy/CopyButton";
import { Empty } from "@/parts/Empty";
import { Link } from "@/parts/Link";

import { TEMPLATES } from "../templates";

/** Shown while there is no schedule: the templates to start from. */
export function TemplateCards() {
  const command = `FOLIOT_URL=${window.location.origin} foliot schedule create hello --every 1m --url ${window.location.origin}/api/echo/hello`;
  return (
    <Empty icon={CalendarClock} title="No schedules yet">
      <p>Choose a template. Everything else is filled in, and nothing runs until you save.</p>
      <div className="mt-4 grid gap-2 text-left sm:grid-cols-2">
        {TEMPLATES.map(({ kind, label, says, icon: Icon }) => (
          <Link
            key={kind}
            to={`/schedules/new?template=${kind}`}
            className="flex gap-3 rounded-lg border bg-bg p-3 hover:border-accent"
          >
            <Icon size={18} strokeWidth={1.75} className="mt-0.5 shrink-0 text-accent" aria-hidden />
            <span>
              <span className="block font-medium text-ink">{label}</span>
              <span className="block text-xs text-muted">{says}</span>
            </span>
          </Link>
        ))}
      </div>
      <div className="mt-4 flex items-center gap-2 rounded border bg-surface py-1 pr-1 pl-3 text-left">
        <code className="min-w-0 flex-1 overflow-x-auto font-mono text-xs whitespace-nowrap">{command}</code>
        <CopyButton text={command} size="small" />
      </div>
    </Empty>
  );
}
