import { useQuery } from "@tanstack/react-query";

import type { ScheduleChain } from "@/api/schema";
import { Card } from "@/parts/Card";
import { cx } from "@/parts/cx";
import { Link } from "@/parts/Link";
import { StateIcon } from "@/parts/state/StateBadge";

import { chainQuery } from "../queries";
import { layOut } from "./chain";

const WIDTH = 208;
const HEIGHT = 48;
const GAP = 56;
const ROW = 16;

/** The schedules that one follows and those that follow it, as a graph from left to right. */
export function ChainCard({ id }: { id: string }) {
  const { data } = useQuery({ ...chainQuery(id), refetchInterval: 30_000 });
  if (!data || data.schedules.length < 2) return null;
  return (
    <Card title="Chain">
      <ChainGraph chain={data} id={id} />
    </Card>
  );
}

function ChainGraph({ chain, id }: { chain: ScheduleChain; id: string }) {
  const { places, columns, rows } = layOut(chain);
  const left = (column: number): number => column * (WIDTH + GAP);
  const top = (row: number): number => row * (HEIGHT + ROW);
  return (
    <div className="overflow-x-auto overflow-y-hidden">
      <div
        className="relative"
        style={{ width: left(columns) - GAP, height: top(rows) - ROW, minWidth: "min-content" }}
        role="img"
        aria-label={chain.schedules.map((schedule) => `${schedule.name}: ${schedule.summary}`).join("; ")}
      >
        <svg className="absolute inset-0 text-line" width={left(columns) - GAP} height={top(rows) - ROW} aria-hidden>
          <defs>
            <marker id="chain-end" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
              <path d="M0 0 L8 4 L0 8 z" fill="var(--muted)" />
            </marker>
          </defs>
          {chain.links.map((link) => {
            const from = places.get(link.parent);
            const to = places.get(link.child);
            if (!from || !to) return null;
            const x = left(from.column) + WIDTH;
            const y = top(from.row) + HEIGHT / 2;
            const endX = left(to.column) - 2;
            const endY = top(to.row) + HEIGHT / 2;
            const bend = Math.min(GAP, endX - x) / 2;
            return (
              <path
                key={`${link.parent} ${link.child}`}
                d={`M${x} ${y} C${x + bend} ${y} ${endX - bend} ${endY} ${endX} ${endY}`}
                fill="none"
                stroke="var(--muted)"
                strokeWidth={1.25}
                strokeDasharray={link.outcome === "failed" ? "4 3" : undefined}
                markerEnd="url(#chain-end)"
              >
                <title>{link.outcome}</title>
              </path>
            );
          })}
        </svg>
        {chain.schedules.map((schedule) => {
          const place = places.get(schedule.id);
          if (!place) return null;
          return (
            <Link
              key={schedule.id}
              to={`/schedules/${schedule.id}`}
              className={cx(
                "absolute flex items-center gap-2 rounded border bg-bg px-2.5 hover:bg-surface",
                schedule.id === id && "border-accent bg-accent-tint font-medium",
                schedule.status !== "active" && "border-dashed text-muted",
              )}
              style={{ left: left(place.column), top: top(place.row), width: WIDTH, height: HEIGHT }}
              title={schedule.status === "active" ? schedule.summary : `${schedule.summary} (${schedule.status})`}
            >
              <StateIcon state={schedule.state ?? schedule.status} />
              <span className="min-w-0">
                <span className="block truncate">{schedule.name}</span>
                <span className="block truncate text-xs font-normal text-muted">{schedule.summary}</span>
              </span>
            </Link>
          );
        })}
      </div>
    </div>
  );
}
