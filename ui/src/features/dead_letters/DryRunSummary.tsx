import type { BulkDryRun } from "@/api/schema";
import { Id } from "@/parts/Id";
import { number } from "@/time/moment";

/** The result of the dry run as text. */
export function DryRunSummary({ trial, asOf, edited }: { trial: BulkDryRun; asOf: "now" | "then"; edited: boolean }) {
  const rehearsal = trial.rehearsal;
  // Dead letters that would be refused are not sent.
  const sent = trial.count - (rehearsal?.refused ?? 0);
  const part = rehearsal && rehearsal.looked_at < trial.count ? ` of the first ${number(rehearsal.looked_at)}` : "";
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
        {rehearsal ? ` · ${duplicates(rehearsal.duplicates)}${part}` : ""}
        {rehearsal ? ` · ${replays(rehearsal.replays_most)}, ${rehearsal.replays_cap} at most` : ""}
      </p>
      <p>{settingsNote(trial, asOf)}</p>
      {rehearsal && edited ? (
        <p>
          The change alters {number(rehearsal.edited)}
          {part}, and {rehearsal.refused ? `${number(rehearsal.refused)} would be refused:` : "none would be refused."}
        </p>
      ) : null}
      {rehearsal?.refusals.length ? (
        <ul className="flex flex-col gap-0.5 text-failed-ink">
          {rehearsal.refusals.map((refusal) => (
            <li key={refusal.id} className="flex flex-wrap gap-x-2">
              <Id id={refusal.id} to={`/runs/${refusal.id}`} />
              <span className="min-w-0 break-words">{refusal.message}</span>
            </li>
          ))}
          {rehearsal.refused > rehearsal.refusals.length ? (
            <li>and {number(rehearsal.refused - rehearsal.refusals.length)} more</li>
          ) : null}
        </ul>
      ) : null}
      {trial.warnings.map((warning) => (
        <p key={warning} className="text-attention-ink">
          {warning}
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

/** Which version of the schedule's settings a replay uses, and whether it differs from the one that failed. */
export function settingsNote(trial: BulkDryRun, asOf: "now" | "then"): string {
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
