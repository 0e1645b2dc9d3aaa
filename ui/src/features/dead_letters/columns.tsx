import type { Run } from "@/api/schema";
import { Button } from "@/parts/Button";
import { Id } from "@/parts/Id";
import { Instant } from "@/parts/Instant";
import { Link } from "@/parts/Link";
import type { Column } from "@/parts/table/DataTable";

/** The payload of a dead letter, in one line. */
function payload(run: Run): string {
  const body = (run.action as { body?: unknown } | null)?.body ?? run.action;
  return body ? JSON.stringify(body).slice(0, 120) : "from the schedule";
}

export function deadLetterColumns(onReplay?: (run: Run) => void): Column<Run>[] {
  return [
    {
      id: "run",
      header: "Run",
      width: "150px",
      card: "lead",
      cell: (run) => <Id id={run.id} to={`/runs/${run.id}`} />,
    },
    {
      id: "schedule",
      header: "Schedule",
      width: "minmax(120px, 1fr)",
      card: "meta",
      cell: (run) => run.schedule_name ?? "–",
    },
    {
      id: "tries",
      header: "Attempts",
      width: "64px",
      right: true,
      card: "none",
      cell: (run) => `${run.attempt}/${run.max_attempts}`,
    },
    {
      id: "gave-up",
      header: "Failed at",
      width: "120px",
      card: "meta",
      cell: (run) => <Instant at={run.finished_at} />,
    },
    {
      id: "payload",
      header: "Payload",
      width: "minmax(160px, 2fr)",
      card: "none",
      cell: (run) => <code className="truncate font-mono text-xs text-muted">{payload(run)}</code>,
    },
    {
      id: "do",
      header: "",
      width: "180px",
      right: true,
      card: "side",
      cell: (run) => (
        <span className="flex items-center gap-3">
          <Link to={`/runs/${run.id}?edit=1`} className="text-xs text-accent hover:underline max-md:hidden">
            Edit & replay
          </Link>
          {onReplay ? (
            <Button
              size="small"
              onClick={(event) => {
                event.preventDefault();
                event.stopPropagation();
                onReplay(run);
              }}
            >
              Replay
            </Button>
          ) : null}
        </span>
      ),
    },
  ];
}
