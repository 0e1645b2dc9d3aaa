import { useQuery } from "@tanstack/react-query";
import { CircleAlert, CircleCheck, CircleDashed } from "lucide-react";
import { useState } from "react";

import { ask } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import type { Run } from "@/api/schema";
import { usePermission } from "@/api/session";
import { Button } from "@/parts/Button";
import { Confirm } from "@/parts/Confirm";
import { Link } from "@/parts/Link";
import { useCommand } from "@/parts/useCommand";
import { number } from "@/time/moment";

/** What was expected of a run's data and what came; of a degraded run, what becomes of its data. */
export function DataVerdict({ run }: { run: Run }) {
  if (!run.verdict?.length) return null;
  const broken = run.verdict.filter((one) => one.met === false).length;
  const degraded = run.state === "degraded";
  return (
    <section
      aria-label="Data"
      className={`rounded-lg border p-3 ${degraded ? "border-attention/50 bg-attention-tint" : "border-line"}`}
    >
      <h2 className="mb-2 font-medium">
        {broken
          ? `The data broke ${broken === 1 ? "an expectation" : `${number(broken)} expectations`}`
          : "The data met its expectations"}
      </h2>
      <div className="overflow-x-auto">
        <table className="w-full text-left text-sm">
          <thead className="text-muted">
            <tr>
              <th className="pr-4 font-normal">Expectation</th>
              <th className="pr-4 font-normal">Expected</th>
              <th className="pr-4 font-normal">Actual</th>
              <th className="pr-4 font-normal">Typical</th>
              <th className="font-normal">Result</th>
            </tr>
          </thead>
          <tbody>
            {run.verdict.map((one) => (
              <tr key={one.expectation} className="border-t border-line/60">
                <td className="py-1 pr-4 font-mono text-xs">{one.expectation}</td>
                <td className="pr-4">{one.wanted}</td>
                <td className="pr-4">{one.got}</td>
                <td className="pr-4">{one.baseline ?? "–"}</td>
                <td>
                  <Verdict met={one.met} note={one.note} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {degraded ? <Quarantine run={run} /> : null}
    </section>
  );
}

function Verdict({ met, note }: { met: boolean | null; note?: string }) {
  if (met === null)
    return (
      <span className="inline-flex items-center gap-1 text-muted">
        <CircleDashed size={14} aria-hidden /> not judged{note ? `: ${note}` : ""}
      </span>
    );
  return met ? (
    <span className="inline-flex items-center gap-1 text-success-ink">
      <CircleCheck size={14} aria-hidden /> met
    </span>
  ) : (
    <span className="inline-flex items-center gap-1 text-attention-ink">
      <CircleAlert size={14} aria-hidden /> broken{note ? `: ${note}` : ""}
    </span>
  );
}

function Quarantine({ run }: { run: Run }) {
  const mayRun = usePermission("run:run");
  const [act, busy] = useCommand();
  const [dropping, setDropping] = useState(false);
  const { data } = useQuery({
    queryKey: queryKeys.quarantine(run.id),
    queryFn: ({ signal }) => ask("/api/runs/{run_id}/quarantine", { params: { run_id: run.id }, signal }),
  });
  if (!data) return null;
  const items = `${number(data.items)} ${data.items === 1 ? "item" : "items"}`;
  if (data.state !== "held")
    return (
      <p className="mt-3">
        {items} {data.state} by {data.decided_by}
        {data.release_id ? (
          <>
            {", written by "}
            <Link to={`/runs/${data.release_id}`} className="text-accent underline">
              a separate run
            </Link>
          </>
        ) : null}
        .
      </p>
    );
  return (
    <div className="mt-3 flex flex-wrap items-center gap-2">
      <p className="min-w-0 flex-1 basis-56">
        {run.kind === "pipeline"
          ? `${items} withheld: the sinks keep the last good data.`
          : `${items} held with this run.`}
      </p>
      <Button
        busy={busy}
        disabled={!mayRun}
        title={mayRun ? undefined : "Your role may not release data"}
        onClick={() =>
          void act("POST", "/api/runs/{run_id}/quarantine/release", { params: { run_id: run.id } }, "Released")
        }
      >
        Release {items}
      </Button>
      <Button
        kind="danger"
        busy={busy}
        disabled={!mayRun}
        title={mayRun ? undefined : "Your role may not drop data"}
        onClick={() => setDropping(true)}
      >
        Drop
      </Button>
      <Confirm
        open={dropping}
        onClose={() => setDropping(false)}
        onConfirm={() => act("POST", "/api/runs/{run_id}/quarantine/drop", { params: { run_id: run.id } }, "Dropped")}
        title={`Drop ${items}?`}
        action={`Drop ${items}`}
        danger
      >
        The items are permanently deleted. The run stays degraded.
      </Confirm>
    </div>
  );
}
