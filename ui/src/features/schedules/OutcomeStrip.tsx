import type { RunOutcome } from "@/api/schema";
import { fill, lookOf } from "@/parts/state/states";
import { useNavigateTo } from "@/parts/useUrl";
import { useZone } from "@/prefs";
import { duration, short } from "@/time/moment";

import { outcomeBars, outcomeSummary, STRIP } from "./outcomes";

const STEP = 6;
const HEIGHT = 22;

/** The last 20 outcomes: height is duration, colour and mark are the state. A bar opens its run. */
export function OutcomeStrip({ outcomes }: { outcomes: readonly RunOutcome[] | undefined }) {
  const zone = useZone();
  const go = useNavigateTo();
  const width = STRIP * STEP;
  if (outcomes && !outcomes.length) return <span className="text-xs text-muted">no runs yet</span>;
  const label = outcomes ? outcomeSummary(outcomes) : "Loading";
  return (
    <svg role="img" aria-label={label} width={width} height={HEIGHT} className="block shrink-0">
      <line x1={0} x2={width} y1={HEIGHT - 0.5} y2={HEIGHT - 0.5} stroke="var(--line)" />
      {outcomeBars(outcomes ?? []).map(({ outcome, place, height }) => {
        const { tone, label: word } = lookOf(outcome.state);
        const bad = tone === "failed" || tone === "dead";
        const tall = bad ? HEIGHT - 2 : Math.max(Math.round(height * (HEIGHT - 5)), 3);
        const x = place * STEP + 1;
        return (
          <g
            key={outcome.run_id}
            className="cursor-pointer hover:opacity-70"
            onClick={(event) => {
              event.stopPropagation();
              go(`/runs/${outcome.run_id}`);
            }}
          >
            <title>{`${word} · ${short(outcome.at, zone, Date.now(), "second")} · ${duration(outcome.duration_ms)}`}</title>
            <rect x={x - 1} y={0} width={STEP} height={HEIGHT} fill="transparent" />
            {outcome.state === "cancelled" ? (
              <rect x={x + 0.5} y={HEIGHT - 1 - tall} width={3} height={tall} fill="none" stroke={fill(tone)} />
            ) : (
              <rect
                x={x}
                y={HEIGHT - 1 - tall}
                width={4}
                height={tall}
                rx={1}
                fill={fill(tone)}
                opacity={tone === "success" ? 0.8 : 1}
              />
            )}
            {bad ? <path d={`M${x} 5l4 4m0-4l-4 4`} stroke="var(--bg)" strokeWidth={1.25} /> : null}
          </g>
        );
      })}
    </svg>
  );
}
