import type { ReactNode } from "react";

import type { Schedule } from "@/api/schema";
import { Card } from "@/parts/Card";
import { CopyButton } from "@/parts/copy/CopyButton";
import { Glossary } from "@/parts/Glossary";
import { Id } from "@/parts/Id";
import { Instant } from "@/parts/Instant";
import { Kind } from "@/parts/state/Kind";
import { duration } from "@/time/moment";

import { LIMITS } from "../limits";
import { CATCHUPS, OVERLAPS } from "../policies";
import { RetryTimeline } from "../RetryTimeline";

/** The action and the policies of a schedule. */
export function SettingsTab({ schedule }: { schedule: Schedule }) {
  const { kind, ...config } = schedule.action;
  const text = JSON.stringify(config, null, 2);
  const overlap = OVERLAPS.find((overlap) => overlap.value === schedule.overlap);
  const catchup = CATCHUPS.find((catchup) => catchup.value === schedule.catchup.mode);
  return (
    <div className="grid gap-4 lg:grid-cols-2">
      <Card
        title={
          <span className="flex items-center gap-2">
            What it does <Kind kind={kind} />
          </span>
        }
        aside={<CopyButton text={text} size="small" />}
      >
        <pre tabIndex={0} className="max-h-96 overflow-auto font-mono text-xs break-all whitespace-pre-wrap">
          {text}
        </pre>
      </Card>
      <Card title="Policies">
        <dl className="grid grid-cols-[minmax(110px,auto)_1fr] gap-x-4 gap-y-2">
          <Row name="Overlap">
            {overlap ? `${overlap.label}: ${overlap.says}` : schedule.overlap} <Glossary term="overlap" />
          </Row>
          <Row name="Catch-up">
            {catchup ? catchup.says : schedule.catchup.mode}
            {schedule.catchup.mode === "none" ? "" : `, up to ${duration(schedule.catchup.window_seconds * 1000)}`}
          </Row>
          <Row name="Queue">
            {schedule.queue} · priority {schedule.priority}
          </Row>
          {LIMITS.map(({ name, title, shown, unset }) => {
            const value = schedule[name];
            const says = value ? shown(value) : unset;
            return says ? (
              <Row key={name} name={title}>
                {says}
              </Row>
            ) : null;
          })}
          {schedule.start_at ? (
            <Row name="From">
              <Instant at={schedule.start_at} zone={schedule.timezone} />
            </Row>
          ) : null}
          {schedule.end_at ? (
            <Row name="Until">
              <Instant at={schedule.end_at} zone={schedule.timezone} />
            </Row>
          ) : null}
          <Row name="Id">
            <Id id={schedule.id} />
          </Row>
          <Row name="Version">
            {schedule.version}, by {schedule.user_id || "unknown user"}, changed <Instant at={schedule.updated_at} />
          </Row>
        </dl>
      </Card>
      <Card title="Retries" className="lg:col-span-2">
        <RetryTimeline policy={schedule.retry_policy} />
      </Card>
    </div>
  );
}

function Row({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt className="text-muted">{name}</dt>
      <dd className="min-w-0">{children}</dd>
    </>
  );
}
