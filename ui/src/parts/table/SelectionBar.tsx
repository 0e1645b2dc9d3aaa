import { type ReactNode } from "react";

import { number } from "@/time/moment";

import { Button } from "../Button";

/** The selection and its actions; `matching` offers everything that the filter finds, not only what is loaded. */
export function SelectionBar({
  count,
  matching,
  everything,
  onEverything,
  onClear,
  noun,
  children,
}: {
  count: number;
  /** How many the filter matches altogether. */
  matching?: number;
  /** All matching are selected. */
  everything?: boolean;
  onEverything?: () => void;
  onClear: () => void;
  noun: string;
  children: ReactNode;
}) {
  if (!count && !everything) return null;
  return (
    <div
      role="region"
      aria-label="Selection"
      className="flex animate-appear flex-wrap items-center gap-2 rounded-lg border bg-raised px-3 py-2 shadow-overlay"
    >
      <span className="font-medium">
        {everything ? `All ${number(matching ?? 0)} matching ${noun} selected` : `${number(count)} selected`}
      </span>
      {!everything && matching !== undefined && matching > count && onEverything ? (
        <Button size="small" onClick={onEverything}>
          Select all {number(matching)} matching
        </Button>
      ) : null}
      <span className="mx-1 h-4 border-l" aria-hidden />
      {children}
      <Button size="small" kind="quiet" hotkey="esc" className="ml-auto" onClick={onClear}>
        Clear
      </Button>
    </div>
  );
}
