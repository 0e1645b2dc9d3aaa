import { useQuery } from "@tanstack/react-query";
import { ListChecks } from "lucide-react";
import { useState } from "react";

import { ask } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import type { AlertRule } from "@/api/schema";
import { usePermission } from "@/api/session";
import { Button } from "@/parts/Button";
import { Card } from "@/parts/Card";
import { Confirm, Modal } from "@/parts/Confirm";
import { Empty } from "@/parts/Empty";
import { ErrorCard } from "@/parts/ErrorCard";
import { SkeletonRows } from "@/parts/Skeleton";
import { useCommand } from "@/parts/useCommand";

import { threshold } from "./kinds";
import { RuleForm } from "./RuleForm";

/** The rules that open alerts. */
export function Rules() {
  const may = usePermission("write:alert_rule");
  const rules = useQuery({
    queryKey: queryKeys.alertRules,
    queryFn: ({ signal }) => ask("/api/alert-rules", { signal }),
  });
  const channels = useQuery({
    queryKey: queryKeys.channels,
    queryFn: ({ signal }) => ask("/api/channels", { signal }),
  });
  const names = Object.fromEntries((channels.data?.items ?? []).map((channel) => [channel.id, channel.name]));
  const [adding, setAdding] = useState(false);
  const [changing, setChanging] = useState<AlertRule | null>(null);
  const [deleting, setDeleting] = useState<AlertRule | null>(null);
  const [act] = useCommand();
  const add = may ? (
    <Button acts size="small" kind="primary" onClick={() => setAdding(true)}>
      Add rule
    </Button>
  ) : null;
  return (
    <Card title="Rules" flush aside={add}>
      {rules.error ? (
        <div className="p-4">
          <ErrorCard error={rules.error} what="Could not load rules" onRetry={() => void rules.refetch()} />
        </div>
      ) : rules.isPending ? (
        <SkeletonRows rows={3} />
      ) : rules.data.items.length ? (
        <ul className="divide-y">
          {rules.data.items.map((rule) => (
            <li key={rule.id} className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2.5 text-sm">
              <span className="font-medium">{rule.name}</span>
              <span className="min-w-0 text-muted">
                {rule.on.join(", ").replaceAll("_", " ")} · {threshold(rule.after)}
                {rule.filter ? ` · ${rule.filter}` : " · all schedules"} →{" "}
                {rule.to.map((id) => names[id] ?? id).join(", ") || "no channel"}
              </span>
              {may && !rule.schedule_id ? (
                <span className="ml-auto flex gap-2">
                  <Button
                    acts
                    size="small"
                    onClick={() =>
                      void act(
                        "PATCH",
                        "/api/alert-rules/{rule_id}",
                        { params: { rule_id: rule.id }, body: { enabled: !rule.enabled } },
                        rule.enabled ? "Rule turned off" : "Rule turned on",
                      )
                    }
                  >
                    {rule.enabled ? "Turn off" : "Turn on"}
                  </Button>
                  <Button acts size="small" onClick={() => setChanging(rule)}>
                    Edit…
                  </Button>
                  <Button acts size="small" kind="danger" onClick={() => setDeleting(rule)}>
                    Delete…
                  </Button>
                </span>
              ) : null}
            </li>
          ))}
        </ul>
      ) : (
        <Empty
          icon={ListChecks}
          title="No rules"
          actions={add}
          cli="alert create-rule failures --on failed --on missed --after 3"
        >
          A rule decides which problems open an alert and which channels are notified.
        </Empty>
      )}
      <Modal open={adding} onClose={() => setAdding(false)} title="Add rule" wide>
        {adding ? <RuleForm channels={channels.data?.items ?? []} onClose={() => setAdding(false)} /> : null}
      </Modal>
      <Modal open={changing !== null} onClose={() => setChanging(null)} title={`Edit ${changing?.name ?? ""}`} wide>
        {changing ? (
          <RuleForm rule={changing} channels={channels.data?.items ?? []} onClose={() => setChanging(null)} />
        ) : null}
      </Modal>
      <Confirm
        open={deleting !== null}
        onClose={() => setDeleting(null)}
        danger
        title={`Delete ${deleting?.name ?? ""}?`}
        action="Delete"
        onConfirm={() =>
          act("DELETE", "/api/alert-rules/{rule_id}", { params: { rule_id: deleting?.id ?? "" } }, "Deleted")
        }
      >
        Its open alerts will be resolved without a notification.
      </Confirm>
    </Card>
  );
}
