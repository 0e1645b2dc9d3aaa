import { useQuery } from "@tanstack/react-query";
import { CalendarX2 } from "lucide-react";
import { useState } from "react";

import { ask } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import type { NamedCalendar } from "@/api/schema";
import { usePermission } from "@/api/session";
import { Button } from "@/parts/Button";
import { Card } from "@/parts/Card";
import { Modal } from "@/parts/Confirm";
import { Empty } from "@/parts/Empty";
import { ErrorCard } from "@/parts/ErrorCard";
import { SkeletonRows } from "@/parts/Skeleton";
import { number } from "@/time/moment";

import { CalendarForm } from "./CalendarForm";

const count = (total: number, one: string): string => `${number(total)} ${one}${total === 1 ? "" : "s"}`;

/** The calendars that schedules exclude, and what each stands for. */
export function Calendars() {
  const may = usePermission("write:calendar");
  const [editing, setEditing] = useState<NamedCalendar | "new" | null>(null);
  const list = useQuery({
    queryKey: queryKeys.calendars,
    queryFn: ({ signal }) => ask("/api/calendars", { query: { limit: 500 }, signal }),
  });
  const close = (): void => {
    setEditing(null);
    void list.refetch();
  };
  const add = may ? (
    <Button acts kind="primary" onClick={() => setEditing("new")}>
      New calendar
    </Button>
  ) : null;
  return (
    <Card flush title="Calendars" aside={add}>
      {list.error ? (
        <div className="p-4">
          <ErrorCard error={list.error} what="Could not load calendars" onRetry={() => void list.refetch()} />
        </div>
      ) : list.isPending ? (
        <SkeletonRows rows={3} />
      ) : list.data.items.length ? (
        <ul className="divide-y">
          {list.data.items.map((calendar) => (
            <li key={calendar.id} className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2.5 text-sm">
              <span className="min-w-0 font-medium break-words">{calendar.name}</span>
              <span className="text-muted">
                {[calendar.holidays, calendar.subdivision].filter(Boolean).join("-") || count(calendar.days, "day")}
              </span>
              <span className="text-xs text-muted">{nextOf(calendar)}</span>
              <span className="ml-auto flex items-center gap-3 text-xs text-muted">
                {count(calendar.schedules, "schedule")}
                {may ? <Button onClick={() => setEditing(calendar)}>Edit</Button> : null}
              </span>
            </li>
          ))}
        </ul>
      ) : (
        <Empty icon={CalendarX2} title="No calendars">
          A calendar holds public holidays, dates and iCalendar events. Schedules that exclude it do not run then.
        </Empty>
      )}
      <Modal
        open={editing !== null}
        onClose={() => setEditing(null)}
        title={editing === "new" ? "New calendar" : `Calendar ${editing?.name ?? ""}`}
      >
        {editing ? <CalendarForm calendar={editing === "new" ? null : editing} onClose={close} /> : null}
      </Modal>
    </Card>
  );
}

function nextOf(calendar: NamedCalendar): string {
  const [next] = calendar.upcoming;
  return next ? `next: ${next.date} ${next.name}`.trim() : "no day lies ahead";
}
