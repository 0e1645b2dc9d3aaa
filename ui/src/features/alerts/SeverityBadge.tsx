import type { AlertSeverity } from "@/api/schema";
import { cx } from "@/parts/cx";
import { toneBadge } from "@/parts/state/StateBadge";

/** How urgent an alert is, or that it is over: a word, and its colour. */
export function SeverityBadge({ severity, resolved }: { severity: AlertSeverity; resolved?: boolean }) {
  const tone = resolved ? "success" : severity === "critical" ? "failed" : "attention";
  return (
    <span className={cx("inline-flex h-5 items-center rounded-full px-2 text-xs font-medium", toneBadge(tone))}>
      {resolved ? "resolved" : severity}
    </span>
  );
}
