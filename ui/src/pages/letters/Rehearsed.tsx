import type { BulkDryRun } from "@/api/calls";
import { Id } from "@/parts/Id";
import { number } from "@/time/moment";

/** What would happen, in words. */
export function Rehearsed({ trial, asOf, edited }: { trial: BulkDryRun; asOf: "now" | "then"; edited: boolean }) {
  const told = trial.rehearsal;
  // Those that would be refused are not sent.
  const sent = trial.count - (told?.refused ?? 0);
  const part = told && told.looked_at < trial.count ? ` of the first ${number(told.looked_at)}` : "";
  return (
    <div
      role="status"
      aria-label="Rehearsal"
      className="flex flex-col gap-1 rounded border bg-surface px-3 py-2 text-sm"
    >
      <p>
        <span className="font-medium">
          {number(sent)} would be sent{trial.hosts.length ? ` to ${trial.hosts.join(", ")}` : ""}
        </span>
        {told ? ` · ${duplicates(told.duplicates)}${part}` : ""}
        {told ? ` · ${replays(told.replays_most)}, ${told.replays_cap} at most` : ""}
      </p>
      <p>{settings(trial, asOf)}</p>
      {told && edited ? (
        <p>
          The change alters {number(told.edited)}
          {part}, and {told.refused ? `${number(told.refused)} would be refused:` : "none would be refused."}
        </p>
      ) : null}
      {told?.refusals.length ? (
        <ul className="flex flex-col gap-0.5 text-failed-ink">
          {told.refusals.map((one) => (
            <li key={one.id} className="flex flex-wrap gap-x-2">
              <Id id={one.id} to={`/runs/${one.id}`} />
              <span className="min-w-0 break-words">{one.message}</span>
            </li>
          ))}
          {told.refused > told.refusals.length ? <li>and {number(told.refused - told.refusals.length)} more</li> : null}
        </ul>
      ) : null}
      {trial.warnings.map((one) => (
        <p key={one} className="text-attention-ink">
          {one}
        </p>
      ))}
      <p className="text-muted">
        Each becomes a new run with a fresh budget of retries; its letter stays until that run succeeds.
      </p>
    </div>
  );
}

const duplicates = (count: number): string =>
  count ? `${number(count)} do what another of them does` : "no duplicates";

const replays = (most: number): string =>
  most ? `replayed up to ${number(most)} times before` : "never replayed before";

/** By which settings: of now or of then, and whether those differ. */
export function settings(trial: BulkDryRun, asOf: "now" | "then"): string {
  const [one] = trial.sample;
  const single = trial.count === 1 && one ? one : null;
  if (single && single.version !== null && single.version !== undefined) {
    const { version, follows } = single;
    if (asOf === "then" || trial.rehearsal?.stay)
      return `With the settings of then: version ${version}, under which it failed.`;
    if (version === follows) return `With the settings of now: version ${version}, under which it failed.`;
    return `With the settings of now: version ${follows}; it failed under version ${version}.`;
  }
  if (asOf === "then") return "With the settings of then, under which they failed.";
  const changed = trial.rehearsal?.changed ?? 0;
  if (!changed) return "With the settings of now, which say the same as when they failed.";
  return `With the settings of now, which have changed for ${number(changed)} since they failed.`;
}
