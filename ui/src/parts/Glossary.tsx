import { CircleHelp } from "lucide-react";
import { useId } from "react";

/** Words that a newcomer does not know, explained as in the documentation's glossary. */
const TERMS = {
  "dead letter":
    "A run that was given up after its last attempt failed. Its payload is kept, so that you can replay it.",
  ledger:
    "The record of scheduled times that did not become a run: skipped, missed or pruned, each with its reason. Together with the runs it accounts for every scheduled time.",
  overlap: "The policy for a scheduled time that comes due while an earlier run is still active.",
} as const;

/** A question mark that explains a term on hover, focus and tap. */
export function Glossary({ term }: { term: keyof typeof TERMS }) {
  const id = useId();
  return (
    <span className="group/term relative inline-flex align-middle font-normal">
      <button
        type="button"
        aria-label={`What is ${term === "dead letter" ? "a " : term === "ledger" ? "the " : ""}${term}?`}
        aria-describedby={id}
        className="cursor-help rounded-full p-0.5 text-muted hover:text-ink"
      >
        <CircleHelp size={14} aria-hidden />
      </button>
      <span
        role="tooltip"
        id={id}
        className="pointer-events-none invisible absolute top-full left-0 z-30 mt-1 w-64 rounded bg-raised p-2.5 text-left text-xs whitespace-normal text-ink shadow-overlay group-focus-within/term:visible group-hover/term:visible"
      >
        {TERMS[term]}
      </span>
    </span>
  );
}
