import type { RunCount } from "@/api/schema";
import { valueOf, withKey } from "@/features/filters/grammar";
import { cx } from "@/parts/cx";
import { StateIcon } from "@/parts/state/StateBadge";
import { lookOf, STACK } from "@/parts/state/states";
import { number } from "@/time/moment";

/** The number of runs in each state; a press filters by that state. */
export function StateChips({ count, q, onChange }: { count?: RunCount; q: string; onChange: (q: string) => void }) {
  const chosen = new Set((valueOf(q, "state") ?? "").split(",").filter(Boolean));
  const total = Object.values(count?.by_state ?? {}).reduce((sum, one) => sum + one, 0);
  const shown = STACK.filter((state) => count?.by_state[state] || chosen.has(state));
  return (
    <div role="group" aria-label="By state" className="flex gap-1.5 overflow-x-auto pb-0.5">
      <Chip pressed={chosen.size === 0} onPress={() => onChange(withKey(q, "state", null))}>
        All <span className="text-muted">{count ? number(total) : "…"}</span>
      </Chip>
      {shown.map((state) => (
        <Chip
          key={state}
          pressed={chosen.has(state)}
          onPress={() => {
            const next = new Set(chosen);
            if (!next.delete(state)) next.add(state);
            onChange(withKey(q, "state", [...next].join(",") || null));
          }}
        >
          <StateIcon state={state} size={13} />
          {lookOf(state).label} <span className="text-muted">{number(count?.by_state[state] ?? 0)}</span>
        </Chip>
      ))}
    </div>
  );
}

function Chip({ pressed, onPress, children }: { pressed: boolean; onPress: () => void; children: React.ReactNode }) {
  return (
    <button
      type="button"
      aria-pressed={pressed}
      onClick={onPress}
      className={cx(
        "flex h-7 shrink-0 items-center gap-1.5 rounded-full border px-2.5 text-xs whitespace-nowrap",
        pressed ? "border-accent bg-accent-tint font-medium" : "hover:bg-surface",
      )}
    >
      {children}
    </button>
  );
}
