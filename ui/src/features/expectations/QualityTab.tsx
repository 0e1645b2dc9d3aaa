import { useQuery } from "@tanstack/react-query";
import { ChartLine } from "lucide-react";

import { ask } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import type { Schedule } from "@/api/schema";
import { Button } from "@/parts/Button";
import { Card } from "@/parts/Card";
import { Empty } from "@/parts/Empty";
import { ErrorCard } from "@/parts/ErrorCard";
import { SkeletonRows } from "@/parts/Skeleton";
import { useCommand } from "@/parts/useCommand";

import { type Expect, expectLines, seriesOf, withExpectation, withoutExpectation } from "./quality";
import { QualityPlot } from "./QualityPlot";

/** The data of a schedule's newest runs: items, errors and coverage over time, and what is expected of them. */
export function QualityTab({ schedule }: { schedule: Schedule }) {
  const quality = useQuery({
    queryKey: queryKeys.quality(schedule.id),
    queryFn: ({ signal }) =>
      ask("/api/schedules/{schedule_id}/quality", { params: { schedule_id: schedule.id }, signal }),
    refetchInterval: 10_000,
  });
  const [expect, save, busy] = useExpect(schedule);
  if (!quality.data)
    return quality.error ? (
      <ErrorCard error={quality.error} what="Could not load the quality of the data" />
    ) : (
      <SkeletonRows rows={4} />
    );
  const { good_runs: good, suggestions } = quality.data;
  const lines = expectLines(expect);
  const known = new Set(lines.map(([name]) => name));
  const open = suggestions.filter((one) => !known.has(one.expectation));
  const series = seriesOf(quality.data);
  return (
    <div className="flex flex-col gap-4">
      <Card title="Expectations" aside={good < 5 ? `no baseline yet: ${good} of 5 good runs` : null}>
        {lines.length ? (
          <ul className="flex flex-col gap-1">
            {lines.map(([name, bound]) => (
              <li key={name} className="flex flex-wrap items-center gap-2">
                <code className="font-mono text-xs">
                  {name} {bound}
                </code>
                <Button
                  size="small"
                  kind="quiet"
                  needs={NEEDS[schedule.action.kind] ?? "write:schedule"}
                  busy={busy}
                  aria-label={`Remove ${name}`}
                  onClick={() => void save(withoutExpectation(expect, name))}
                >
                  Remove
                </Button>
              </li>
            ))}
          </ul>
        ) : (
          <p className="text-muted">
            None. A run that breaks an expectation ends as degraded, and what it would have written is held back.
          </p>
        )}
        {open.length ? (
          <>
            <h3 className="mt-3 mb-1 text-xs font-medium text-muted">Suggested by the last good runs</h3>
            <ul className="flex flex-col gap-1">
              {open.map((one) => (
                <li key={one.expectation} className="flex flex-wrap items-center gap-x-2 gap-y-1">
                  <code className="font-mono text-xs">
                    {one.expectation} {String(one.value)}
                  </code>
                  <Button
                    size="small"
                    needs={NEEDS[schedule.action.kind] ?? "write:schedule"}
                    busy={busy}
                    aria-label={`Expect ${one.expectation} ${String(one.value)}`}
                    onClick={() => void save(withExpectation(expect, one))}
                  >
                    Expect this
                  </Button>
                  <span className="text-xs text-muted">{one.why}</span>
                </li>
              ))}
            </ul>
          </>
        ) : null}
      </Card>
      {series.length ? (
        <div className="grid gap-4 xl:grid-cols-2">
          {series.map((one) => (
            <QualityPlot key={one.name} series={one} />
          ))}
        </div>
      ) : (
        <Empty icon={ChartLine} title="No run has ended yet">
          The number of items, the errors and the share of items with a value are drawn here for each run.
        </Empty>
      )}
    </div>
  );
}

const NEEDS: Readonly<Record<string, string>> = { watch: "write:watch" };

/** What is expected, and how to change it: a watch keeps it itself, the action of other schedules does. */
function useExpect(schedule: Schedule): [Expect, (expect: Expect | null) => Promise<void>, boolean] {
  const [act, busy] = useCommand();
  const watchId = schedule.action.kind === "watch" ? String(schedule.action.watch) : "";
  const watch = useQuery({
    queryKey: queryKeys.watch(watchId),
    queryFn: ({ signal }) => ask("/api/watches/{watch_id}", { params: { watch_id: watchId }, signal }),
    enabled: watchId !== "",
  });
  const expect = (watchId ? watch.data?.expect : schedule.action.expect) as Expect | null | undefined;
  const save = async (changed: Expect | null): Promise<void> => {
    if (watchId) {
      await act(
        "PATCH",
        "/api/watches/{watch_id}",
        { params: { watch_id: watchId }, body: { expect: changed } },
        "Saved",
      );
      return;
    }
    const body = { action: { kind: schedule.action.kind, expect: changed } };
    await act("PATCH", "/api/schedules/{schedule_id}", { params: { schedule_id: schedule.id }, body }, "Saved");
  };
  return [expect ?? {}, save, busy];
}
