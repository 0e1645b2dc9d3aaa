import { useQuery } from "@tanstack/react-query";

import { ask, pathOf } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import type { AlertState } from "@/api/schema";
import { Button } from "@/parts/Button";
import { CopyAs } from "@/parts/copy/CopyAs";
import { type Call, command } from "@/parts/copy/snippets";
import { Page } from "@/parts/Page";
import { Tabs } from "@/parts/Tabs";
import { useUrl } from "@/parts/useUrl";
import { number } from "@/time/moment";

import { AlertList, usualOrder } from "./AlertList";
import { Channels } from "./Channels";
import { Rules } from "./Rules";

const STATES: Record<string, AlertState> = { open: "open", acknowledged: "acknowledged", history: "resolved" };

/** The request that lists what a tab shows. */
function callOf(tab: string, sort: string): Call {
  const get = { method: "GET" };
  if (tab === "rules") return { ...get, verb: "List alert rules", path: "/api/alert-rules", cli: "alert rules" };
  if (tab === "channels") return { ...get, verb: "List channels", path: "/api/channels", cli: "channel list" };
  const state = STATES[tab] ?? "open";
  return {
    ...get,
    verb: "List alerts",
    path: pathOf("/api/alerts", { query: { state, sort: sort || usualOrder(state) } }),
    cli: command("alert list", { "--state": state, "--sort": sort || usualOrder(state) }),
  };
}

/** Alerts that are open and those of the past, the rules that open them, and the channels that are notified. */
export default function AlertsPage() {
  const counts = useQuery({
    queryKey: queryKeys.alertCounts,
    queryFn: ({ signal }) => ask("/api/alerts/counts", { signal }),
    refetchInterval: 10_000,
  });
  const channels = useQuery({
    queryKey: queryKeys.channels,
    queryFn: ({ signal }) => ask("/api/channels", { signal }),
    retry: false,
  });
  const [tab, choose] = useUrl("tab", "open");
  const [sort] = useUrl("sort");
  const open = counts.data?.open ?? 0;
  return (
    <Page
      title="Alerts"
      tab={open ? `Alerts · ${number(open)} open` : "Alerts"}
      state={open ? "failed" : undefined}
      actions={<CopyAs call={callOf(tab, sort)} />}
    >
      {channels.data?.items.length === 0 && tab !== "channels" ? (
        <div role="note" className="flex flex-wrap items-center gap-3 rounded-lg border p-3 text-sm">
          No channel is set up: alerts are only shown here.
          <Button size="small" kind="primary" onClick={() => choose("channels")}>
            Set up notifications
          </Button>
        </div>
      ) : null}
      <Tabs
        tabs={[
          { id: "open", label: open ? `Open (${number(open)})` : "Open", content: <AlertList state="open" /> },
          { id: "acknowledged", label: "Acknowledged", content: <AlertList state="acknowledged" /> },
          { id: "history", label: "History", content: <AlertList state="resolved" /> },
          { id: "rules", label: "Rules", content: <Rules /> },
          { id: "channels", label: "Channels", content: <Channels /> },
        ]}
      />
    </Page>
  );
}
