import { skipToken, useQuery } from "@tanstack/react-query";
import { Download, Pause, Play, RotateCw, Tag, Trash2 } from "lucide-react";
import { useState } from "react";
import { toast } from "sonner";

import { dryRun, newIdempotencyKey, send } from "@/api/client";
import { messageOf, ProblemError } from "@/api/problem";
import type { BulkOperation, BulkAction, NewBulkAction, BulkDryRun } from "@/api/schema";
import { usePermission } from "@/api/session";
import { Button } from "@/parts/Button";
import { Confirm } from "@/parts/Confirm";
import { SelectionBar } from "@/parts/table/SelectionBar";
import { useNavigateTo } from "@/parts/useUrl";
import { number } from "@/time/moment";

import { exportPath, saveFrom } from "../export";
import { TagDialog, type Tagging } from "./TagDialog";

/** Retries what may succeed later; a refusal stays a refusal. */
const again = (count: number, error: unknown): boolean => count < 3 && error instanceof ProblemError && error.retryable;

type ScheduleAction = Extract<BulkOperation, "run" | "pause" | "resume" | "delete">;

const WORDS: Record<ScheduleAction, { verb: string; title: (count: string) => string; means: string }> = {
  run: {
    verb: "Run",
    title: (count) => `Run ${count} now`,
    means: "Creates one extra run of each, at the rate given below.",
  },
  pause: {
    verb: "Pause",
    title: (count) => `Pause ${count}`,
    means: "Nothing will run until you resume them. Scheduled times that pass meanwhile are not caught up.",
  },
  resume: {
    verb: "Resume",
    title: (count) => `Resume ${count}`,
    means: "Each runs again from its next scheduled time.",
  },
  delete: {
    verb: "Delete",
    title: (count) => `Delete ${count}`,
    means: "Queued runs are cancelled; runs in progress continue. History is kept.",
  },
};

const counted = (count: number): string => `${number(count)} ${count === 1 ? "schedule" : "schedules"}`;

export interface Chosen {
  ids: ReadonlySet<string>;
  /** Everything that the filter matches, loaded or not. */
  everything: boolean;
}

/** The actions on selected schedules, each executed by the server as one bulk action. */
export function BulkActionBar({
  q,
  chosen,
  onEverything,
  onClear,
  onStarted,
}: {
  q: string;
  chosen: Chosen;
  onEverything: () => void;
  onClear: () => void;
  onStarted: (bulk: BulkAction) => void;
}) {
  const [act, setAct] = useState<ScheduleAction | null>(null);
  const [key, setKey] = useState("");
  const [tagging, setTagging] = useState(false);
  const go = useNavigateTo();
  const [mayRun, mayWrite] = [usePermission("run:schedule"), usePermission("write:schedule")];
  const matching = useMatching(q, chosen.ids.size > 0 || chosen.everything);
  const request = (more: Partial<NewBulkAction>): NewBulkAction => ({
    action: act ?? "pause",
    ...(chosen.everything ? { filter: q } : { ids: [...chosen.ids] }),
    ...more,
  });
  const rehearsal = useDryRun(act ? request({}) : null);
  // The schedules that the action applies to: a paused one cannot be paused again.
  const count = rehearsal?.count ?? (chosen.everything ? (matching ?? 0) : chosen.ids.size);
  const tag = async (tags: Tagging): Promise<void> => {
    const body: NewBulkAction = {
      action: "tag",
      ...(chosen.everything ? { filter: q, expect: matching } : { ids: [...chosen.ids] }),
      ...tags,
    };
    try {
      const bulk = await send("POST", "/api/bulk", { body, idempotencyKey: key });
      onStarted(bulk);
      onClear();
      toast.success(`Tag: ${counted(bulk.total)}`, {
        action: { label: "View progress", onClick: () => go(`/bulk/${bulk.id}`) },
      });
    } catch (error) {
      toast.error(messageOf(error));
      throw error;
    }
  };
  const begin = async (): Promise<void> => {
    try {
      const bulk = await send("POST", "/api/bulk", {
        body: request(chosen.everything ? { expect: count } : {}),
        idempotencyKey: key,
      });
      onStarted(bulk);
      onClear();
      toast.success(`${WORDS[act ?? "pause"].verb}: ${counted(bulk.total)}`, {
        action: { label: "View progress", onClick: () => go(`/bulk/${bulk.id}`) },
      });
    } catch (error) {
      toast.error(messageOf(error));
      throw error;
    }
  };
  const press = (one: ScheduleAction): void => {
    setKey(newIdempotencyKey());
    setAct(one);
  };
  return (
    <>
      <SelectionBar
        count={chosen.ids.size}
        matching={matching}
        everything={chosen.everything}
        onEverything={onEverything}
        onClear={onClear}
        noun="schedules"
      >
        <Button acts size="small" icon={<Play size={12} aria-hidden />} disabled={!mayRun} onClick={() => press("run")}>
          Run
        </Button>
        <Button
          acts
          size="small"
          icon={<Pause size={12} aria-hidden />}
          disabled={!mayWrite}
          onClick={() => press("pause")}
        >
          Pause
        </Button>
        <Button
          acts
          size="small"
          icon={<RotateCw size={12} aria-hidden />}
          disabled={!mayWrite}
          onClick={() => press("resume")}
        >
          Resume
        </Button>
        <Button
          size="small"
          icon={<Tag size={12} aria-hidden />}
          disabled={!mayWrite}
          onClick={() => {
            setKey(newIdempotencyKey());
            setTagging(true);
          }}
        >
          Tag…
        </Button>
        <Button
          size="small"
          icon={<Download size={12} aria-hidden />}
          onClick={() => {
            try {
              saveFrom(exportPath(q, chosen.everything ? null : chosen.ids));
            } catch (error) {
              toast.error(messageOf(error));
            }
          }}
        >
          Export YAML
        </Button>
        <Button
          acts
          size="small"
          kind="danger"
          icon={<Trash2 size={12} aria-hidden />}
          disabled={!mayWrite}
          onClick={() => press("delete")}
        >
          Delete…
        </Button>
      </SelectionBar>
      <TagDialog
        open={tagging}
        title={`Tag ${counted(chosen.everything ? (matching ?? 0) : chosen.ids.size)}`}
        onClose={() => setTagging(false)}
        onTag={tag}
      />
      <Confirm
        open={act !== null}
        onClose={() => setAct(null)}
        onConfirm={begin}
        title={act ? WORDS[act].title(counted(count)) : ""}
        action={act ? WORDS[act].title(counted(count)) : ""}
        danger={act === "delete"}
        type={act === "delete" ? String(count) : undefined}
      >
        {act ? <p>{WORDS[act].means}</p> : null}
        {rehearsal ? <Told rehearsal={rehearsal} chosen={chosen.everything ? matching : chosen.ids.size} /> : null}
        <p className="mt-2">Processed at five per second. You can follow, pause or stop it.</p>
      </Confirm>
    </>
  );
}

/** A dry run of the bulk action. */
function useDryRun(request: NewBulkAction | null): BulkDryRun | undefined {
  const { data } = useQuery({
    queryKey: ["rehearsal", request],
    queryFn: request ? ({ signal }) => dryRun("/api/bulk", { body: request, signal }) : skipToken,
    gcTime: 0,
    retry: again,
  });
  return data;
}

function Told({ rehearsal, chosen }: { rehearsal: BulkDryRun; chosen: number | undefined }) {
  const left = (chosen ?? rehearsal.count) - rehearsal.count;
  return (
    <ul className="mt-2 list-disc pl-4">
      <li>
        {counted(rehearsal.count)} will change
        {left > 0 ? `; ${number(left)} already are, or cannot be changed` : ""}.
      </li>
      {rehearsal.warnings.map((warning) => (
        <li key={warning}>{warning}</li>
      ))}
    </ul>
  );
}

/** The number of schedules that match the filter, counted by the server as for a bulk action. */
function useMatching(q: string, wanted: boolean): number | undefined {
  const { data } = useQuery({
    queryKey: ["schedules", "matching", q],
    queryFn: ({ signal }) => dryRun("/api/bulk", { body: { action: "delete", filter: q }, signal }),
    enabled: wanted,
    retry: again,
    staleTime: 5000,
  });
  return data?.count;
}
