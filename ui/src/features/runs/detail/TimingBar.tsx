import type { RequestTiming } from "@/api/schema";
import { duration } from "@/time/moment";

const PHASES = [
  ["dns_ms", "DNS", "bg-neutral"],
  ["connect_ms", "connect", "bg-attention"],
  ["tls_ms", "TLS", "bg-dead"],
  ["first_byte_ms", "first byte", "bg-running"],
] as const;

/** How long each phase of a request took, as a bar and in numbers; the rest of the bar is the body and what failed. */
export function TimingBar({ timing }: { timing: RequestTiming }) {
  const total = Math.max(timing.total_ms, 0.1);
  const phases = PHASES.flatMap(([name, label, colour]) => {
    const ms = timing[name];
    return ms === null || ms === undefined ? [] : [{ label, colour, ms }];
  });
  return (
    <div role="group" aria-label="Timing" className="flex flex-col gap-1 text-xs">
      <div aria-hidden className="flex h-2 overflow-hidden rounded bg-neutral-tint">
        {phases.map(({ label, colour, ms }) => (
          <span key={label} className={colour} style={{ width: `${(ms / total) * 100}%` }} />
        ))}
      </div>
      <ul className="flex flex-wrap gap-x-4 gap-y-1 text-muted">
        {phases.map(({ label, colour, ms }) => (
          <li key={label} className="flex items-center gap-1.5 whitespace-nowrap">
            <span aria-hidden className={`size-2 rounded-full ${colour}`} />
            {label} {short(ms)}
          </li>
        ))}
        <li className="whitespace-nowrap text-ink">total {short(timing.total_ms)}</li>
      </ul>
    </div>
  );
}

const short = (ms: number): string => (ms < 10 ? `${ms} ms` : duration(ms));
