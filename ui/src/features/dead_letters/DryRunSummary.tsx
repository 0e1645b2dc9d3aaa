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
    <div role="status" aria-label="Preview" className="flex flex-col gap-1 rounded border bg-surface px-3 py-2 text-sm">
      <p>
        <span className="font-medium">
          {number(sent)} will be sent{trial.hosts.length ? ` to ${trial.hosts.join(", ")}` : ""}
        </span>
        {rehearsal ? ` · ${duplicates(rehearsal.duplicates)}${part}` : ""}
        {rehearsal ? ` · ${replays(rehearsal.replays_most)} (limit ${rehearsal.replays_cap})` : ""}
      </p>
      <p>{settingsNote(trial, asOf)}</p>
      {rehearsal && edited ? (
        <p>
          The edit changes {number(rehearsal.edited)}
          {part}, and {rehearsal.refused ? `${number(rehearsal.refused)} will be rejected:` : "none will be rejected."}
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
        Each becomes a new run with a full set of retries. The dead letter stays open until that run succeeds.
      </p>
    </div>
  );
}

const duplicates = (count: number): string =>
  count ? `${number(count)} ${count === 1 ? "is a duplicate" : "are duplicates"} of the same request` : "no duplicates";

const replays = (most: number): string =>
  most ? `replayed up to ${number(most)} ${most === 1 ? "time" : "times"} before` : "first replay";

/** Which version of the schedule's settings a replay uses, and whether it differs from the one that failed. */
export function settingsNote(trial: BulkDryRun, asOf: "now" | "then"): string {
  const [one] = trial.sample;
  const single = trial.count === 1 && one ? one : null;
  if (single && single.version !== null && single.version !== undefined) {
    const { version, follows } = single;
    if (asOf === "then" || trial.rehearsal?.stay) return `Uses the settings at failure: version ${version}.`;
    if (version === follows) return `Uses the current settings: version ${version}, the same as at failure.`;
    return `Uses the current settings: version ${follows}; it failed with version ${version}.`;
  }
  if (asOf === "then") return "Uses the settings at failure.";
  const changed = trial.rehearsal?.changed ?? 0;
  if (!changed) return "Uses the current settings, unchanged since they failed.";
  return `Uses the current settings, which have changed for ${number(changed)} since they failed.`;
}
