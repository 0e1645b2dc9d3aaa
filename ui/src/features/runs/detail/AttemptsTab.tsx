import type { Run } from "@/api/schema";
import { Card } from "@/parts/Card";
import { Duration } from "@/parts/Duration";
import { Empty } from "@/parts/Empty";
import { Instant } from "@/parts/Instant";
import { Json } from "@/parts/Json";
import { StateBadge } from "@/parts/state/StateBadge";

import { TimingBar } from "./TimingBar";

/** The attempts of a run, each with its outcome, request and response. */
export function AttemptsTab({ run }: { run: Run }) {
  if (!run.attempts.length) return <Empty title="No attempts finished yet" />;
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
              {attempt.error && attempt.error.message !== run.error?.message ? (
                <p className="[overflow-wrap:anywhere] text-failed-ink">
                  <code className="font-mono text-xs">{attempt.error.cause ?? attempt.error.code}</code>{" "}
                  {attempt.error.message}
                </p>
              ) : null}
              {attempt.retry_at ? (
                <p className="text-muted">
                  Next attempt scheduled for <Instant at={attempt.retry_at} as="short" precision="second" />.
                </p>
              ) : null}
              {attempt.timing ? <TimingBar timing={attempt.timing} /> : null}
              <div className={attempt.request ? "grid gap-3 lg:grid-cols-2" : undefined}>
                {attempt.request ? (
                  <section aria-label="Request" className="flex min-w-0 flex-col gap-2">
                    <h3 className="text-xs font-medium text-muted">Request</h3>
                    <p className="font-mono text-xs [overflow-wrap:anywhere]">
                      {attempt.request.method} {attempt.request.url}
                    </p>
                    <Json value={attempt.request.headers} name={`attempt-${attempt.number}-request`} />
                  </section>
                ) : null}
                {attempt.response ? (
                  <section aria-label="Response" className="flex min-w-0 flex-col gap-2">
                    {attempt.request ? <h3 className="text-xs font-medium text-muted">Response</h3> : null}
                    <Json value={rest} name={`attempt-${attempt.number}`} />
                    {body !== undefined && body !== null && body !== "" ? (
                      <>
                        <h3 className="text-xs font-medium text-muted">Body</h3>
                        <Json value={body} name={`attempt-${attempt.number}-body`} />
                      </>
                    ) : null}
                  </section>
                ) : attempt.request ? (
                  <section aria-label="Response" className="flex min-w-0 flex-col gap-2">
                    <h3 className="text-xs font-medium text-muted">Response</h3>
                    <p className="text-muted">None</p>
                  </section>
                ) : null}
              </div>
            </div>
          </Card>
        );
      })}
    </div>
  );
}
