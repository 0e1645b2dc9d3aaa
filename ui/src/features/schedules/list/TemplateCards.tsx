import { CalendarClock } from "lucide-react";

import { Empty } from "@/parts/Empty";
import { Link } from "@/parts/Link";

import { TEMPLATES } from "../templates";

/** Shown while there is no schedule: the templates to start from. */
export function TemplateCards() {
  return (
    <Empty
      icon={CalendarClock}
      title="No schedules yet"
      cli={`schedule create hello --every 1m --url ${window.location.origin}/api/echo/hello`}
    >
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
    </Empty>
  );
}
