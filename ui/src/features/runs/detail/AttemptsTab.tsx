import type { Run } from "@/api/schema";
import { Card } from "@/parts/Card";
import { Duration } from "@/parts/Duration";
import { Empty } from "@/parts/Empty";
import { Instant } from "@/parts/Instant";
import { Json } from "@/parts/Json";
import { StateBadge } from "@/parts/state/StateBadge";

/** The attempts of a run, each with its outcome and response. */
export function AttemptsTab({ run }: { run: Run }) {
  if (!run.attempts.length) return <Empty title="No attempt has ended yet" />;
  return (
    <div className="flex flex-col gap-4">
      {[...run.attempts].reverse().map((attempt) => {
        const { body, ...rest } = attempt.response ?? {};
        return (
          <Card
            key={`${attempt.number}-${attempt.epoch}`}
            title={`Attempt ${attempt.number}`}
            aside={
              <>
                <StateBadge state={attempt.outcome === "succeeded" ? "success" : attempt.outcome} />
                <Instant at={attempt.started_at} as="short" precision="second" />
                <Duration ms={attempt.duration_ms} />
              </>
            }
          >
            <div className="flex flex-col gap-3">
              {attempt.error ? (
                <p className="[overflow-wrap:anywhere] text-failed-ink">
                  <code className="font-mono text-xs">{attempt.error.code}</code> {attempt.error.message}
                </p>
              ) : null}
              {attempt.retry_at ? (
                <p className="text-muted">
                  The next attempt was set for <Instant at={attempt.retry_at} as="short" precision="second" />.
                </p>
              ) : null}
              {attempt.response ? (
                <>
                  <Json value={rest} name={`attempt-${attempt.number}`} />
                  {body !== undefined && body !== null && body !== "" ? (
                    <>
                      <h3 className="text-xs font-medium text-muted">Body</h3>
                      <Json value={body} name={`attempt-${attempt.number}-body`} />
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
