import { useQuery } from "@tanstack/react-query";
import { HeartPulse } from "lucide-react";
import { useState } from "react";

import { ask } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import type { MonitorDetail } from "@/api/schema";
import { usePermission } from "@/api/session";
import { Button } from "@/parts/Button";
import { Card } from "@/parts/Card";
import { Modal } from "@/parts/Confirm";
import { CopyAs } from "@/parts/copy/CopyAs";
import { Empty } from "@/parts/Empty";
import { ErrorCard } from "@/parts/ErrorCard";
import { Instant } from "@/parts/Instant";
import { Link } from "@/parts/Link";
import { Page } from "@/parts/Page";
import { SkeletonRows } from "@/parts/Skeleton";
import { useNavigateTo } from "@/parts/useUrl";

import { MonitorForm } from "./MonitorForm";
import { StatusBadge } from "./StatusBadge";

/** Jobs that run elsewhere and report by pings. */
export default function MonitorsPage() {
  const may = usePermission("write:monitor");
  const go = useNavigateTo();
  const [adding, setAdding] = useState(false);
  const monitors = useQuery({
    queryKey: queryKeys.monitors,
    queryFn: ({ signal }) => ask("/api/monitors", { query: { limit: 500 }, signal }),
    refetchInterval: 5000,
  });
  const add = may ? (
    <Button acts kind="primary" onClick={() => setAdding(true)}>
      New monitor
    </Button>
  ) : null;
  return (
    <Page
      title="Monitors"
      actions={
        <>
          {add}
          <CopyAs call={{ verb: "List monitors", method: "GET", path: "/api/monitors", cli: "monitor list" }} />
        </>
      }
    >
      <Card flush>
        {monitors.error ? (
          <div className="p-4">
            <ErrorCard error={monitors.error} what="Could not load monitors" onRetry={() => void monitors.refetch()} />
          </div>
        ) : monitors.isPending ? (
          <SkeletonRows rows={4} />
        ) : monitors.data.items.length ? (
          <ul className="divide-y">
            {monitors.data.items.map((monitor) => (
              <MonitorRow key={monitor.id} monitor={monitor} />
            ))}
          </ul>
        ) : (
          <Empty
            icon={HeartPulse}
            title="No monitors"
            actions={add}
            cli={`monitor create nightly-backup --cron "0 2 * * *" --grace 30m`}
          >
            A monitor is an address that a cron job or a backup calls when it has run. When the call does not come, or
            reports a failure, your alert rules notify you.
          </Empty>
        )}
      </Card>
      <Modal open={adding} onClose={() => setAdding(false)} title="New monitor">
        {adding ? (
          <MonitorForm
            onClose={(made) => {
              setAdding(false);
              if (made) go(`/monitors/${made.id}`);
            }}
          />
        ) : null}
      </Modal>
    </Page>
  );
}

function MonitorRow({ monitor }: { monitor: MonitorDetail }) {
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2.5 text-sm">
      <StatusBadge status={monitor.status} />
      <Link to={`/monitors/${monitor.id}`} className="min-w-0 font-medium break-words hover:underline">
        {monitor.name}
      </Link>
      <span className="text-muted">{monitor.summary}</span>
      <span className="ml-auto flex flex-wrap gap-x-4 text-xs text-muted">
        <span>last ping {monitor.last_ping_at ? <Instant at={monitor.last_ping_at} as="relative" /> : "never"}</span>
        {monitor.next_expected_at ? (
          <span>
            expected <Instant at={monitor.next_expected_at} as="relative" />
          </span>
        ) : null}
      </span>
    </li>
  );
}
