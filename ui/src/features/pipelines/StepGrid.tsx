import type { PipelineDetail } from "@/api/schema";
import { Link } from "@/parts/Link";
import { StateIcon } from "@/parts/state/StateBadge";
import { useZone } from "@/prefs";
import { duration, number, short } from "@/time/moment";

import { stateOf } from "./steps";

/** Columns are runs, the newest at the right; rows are steps. */
export function StepGrid({ pipeline }: { pipeline: PipelineDetail }) {
  const zone = useZone();
  const runs = [...pipeline.runs].reverse();
  return (
    <div tabIndex={0} className="overflow-x-auto">
      <table className="text-left text-sm">
        <thead>
          <tr>
            <th scope="col" className="sticky left-0 bg-bg py-1 pr-4 text-xs font-medium text-muted">
              Step
            </th>
            {runs.map((run) => (
              <th key={run.id} scope="col" className="px-1 py-1 text-center font-normal">
                <Link to={`/runs/${run.id}`} className="inline-flex rounded-sm p-1 hover:bg-surface">
                  <span className="sr-only">{`Run of ${run.started_at ? short(run.started_at, zone, Date.now()) : "later"}`}</span>
                  <StateIcon state={run.state} />
                </Link>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {pipeline.steps.map((step, index) => (
            <tr key={index} className="border-t">
              <th scope="row" className="sticky left-0 max-w-56 truncate bg-bg py-1 pr-4 font-normal">
                {step.name || step.class}
              </th>
              {runs.map((run) => {
                const done = run.steps[index];
                const tooltip = done
                  ? `${number(done.in)} in, ${number(done.out)} out, ${number(done.failed)} failed, ${duration(done.seconds * 1000)}`
                  : "not reached";
                return (
                  <td key={run.id} className="px-1 py-1 text-center" title={tooltip}>
                    {done ? <StateIcon state={stateOf(done)} size={14} /> : <span className="text-muted">·</span>}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
