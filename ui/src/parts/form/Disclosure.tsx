import { ChevronRight } from "lucide-react";
import { type ReactNode, useState } from "react";

/** Fields that are seldom needed: one line until it is opened. */
export function Disclosure({ title, open, children }: { title: string; open: boolean; children: ReactNode }) {
  const [openAtFirst] = useState(open);
  return (
    <details open={openAtFirst || undefined} className="group">
      <summary className="inline-flex list-none items-center gap-1 text-xs text-muted hover:text-ink">
        <ChevronRight size={12} className="group-open:rotate-90" aria-hidden /> {title}
      </summary>
      <div className="pt-2">{children}</div>
    </details>
  );
}
