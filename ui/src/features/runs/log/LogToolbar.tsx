import { ArrowDown, ArrowUp, Search } from "lucide-react";
import type { RefObject } from "react";

import { Button } from "@/parts/Button";
import { number } from "@/time/moment";

import type { Matches } from "./useMatches";

const LEVELS = [
  ["debug", "All levels"],
  ["info", "≥ Info"],
  ["warning", "≥ Warning"],
  ["error", "≥ Error"],
] as const;

export function LogToolbar({
  input,
  text,
  onText,
  total,
  matches,
  onStep,
  only,
  onOnly,
  level,
  onLevel,
}: {
  input: RefObject<HTMLInputElement | null>;
  text: string;
  onText: (text: string) => void;
  total: number;
  matches: Matches;
  onStep: (by: 1 | -1) => void;
  only: boolean;
  onOnly: (only: boolean) => void;
  level: string;
  onLevel: (level: string) => void;
}) {
  return (
    <div className="flex flex-wrap items-center gap-2 border-b px-3 py-1.5">
      <label className="flex h-7 min-w-40 flex-1 items-center gap-2 rounded border bg-bg px-2 focus-within:border-accent">
        <Search size={13} className="text-muted" aria-hidden />
        <input
          ref={input}
          value={text}
          maxLength={200}
          onChange={(event) => onText(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter") onStep(event.shiftKey ? -1 : 1);
            if (event.key === "Escape") {
              if (text) onText("");
              else event.currentTarget.blur();
            }
          }}
          aria-label="Search the log"
          placeholder={`Search ${number(total)} ${total === 1 ? "line" : "lines"}`}
          spellCheck={false}
          className="min-w-0 flex-1 bg-transparent font-mono text-xs outline-none"
        />
        {text && matches.count !== null ? (
          <span role="status" className="text-xs whitespace-nowrap text-muted">
            {matches.count === 0
              ? "no matches"
              : matches.index
                ? `${number(matches.index)} of ${number(matches.count)}`
                : `${number(matches.count)} ${matches.count === 1 ? "match" : "matches"}`}
          </span>
        ) : null}
      </label>
      <Button
        size="small"
        kind="quiet"
        aria-label="Previous match"
        icon={<ArrowUp size={14} />}
        disabled={!matches.count}
        onClick={() => onStep(-1)}
      />
      <Button
        size="small"
        kind="quiet"
        aria-label="Next match"
        icon={<ArrowDown size={14} />}
        disabled={!matches.count}
        onClick={() => onStep(1)}
      />
      <label className="flex items-center gap-1.5 text-xs text-muted">
        <input
          type="checkbox"
          checked={only}
          onChange={(event) => onOnly(event.target.checked)}
          className="accent-accent"
        />
        Matches only
      </label>
      <select
        aria-label="Level"
        value={level}
        onChange={(event) => onLevel(event.target.value)}
        className="h-7 rounded border bg-bg px-1.5 text-xs"
      >
        {LEVELS.map(([id, name]) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
    </div>
  );
}
