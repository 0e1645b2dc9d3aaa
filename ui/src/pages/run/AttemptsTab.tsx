import type { Run } from "@/api/calls";
import { Card } from "@/parts/Card";
import { Duration } from "@/parts/Duration";
import { Empty } from "@/parts/Empty";
import { Instant } from "@/parts/Instant";
import { Json } from "@/parts/Json";
import { StateBadge } from "@/parts/StateBadge";

/** Each try: how it ended, and what came back. */
export function AttemptsTab({ run }: { run: Run }) {
  if (!run.attempts.length) return <Empty title="No attempt has ended yet" />;
  return (
    <div className="flex flex-col gap-4">
      {[...run.attempts].reverse().map((one) => {
        const { body, ...rest } = one.response ?? {};
        return (
          <Card
            key={`${one.number}-${one.epoch}`}
            title={`Attempt ${one.number}`}
            aside={
              <>
                <StateBadge state={one.outcome === "succeeded" ? "success" : one.outcome} />
                <Instant at={one.started_at} as="short" precision="second" />
                <Duration ms={one.duration_ms} />
              </>
            }
          >
            <div className="flex flex-col gap-3">
              {one.error ? (
                <p className="[overflow-wrap:anywhere] text-failed-ink">
                  <code className="font-mono text-xs">{one.error.code}</code> {one.error.message}
                </p>
              ) : null}
              {one.retry_at ? (
                <p className="text-muted">
                  The next attempt was set for <Instant at={one.retry_at} as="short" precision="second" />.
                </p>
              ) : null}
              {one.response ? (
                <>
                  <Json value={rest} name={`attempt-${one.number}`} />
                  {body !== undefined && body !== null && body !== "" ? (
                    <>
                      <h3 className="text-xs font-medium text-muted">Body</h3>
                      <Json value={body} name={`attempt-${one.number}-body`} />
                    </>
                  ) : null}
                </>
              ) : null}
            </div>
          </Card>
        );
      })}
    </div>
  );
}
