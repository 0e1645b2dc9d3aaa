import { ChevronRight } from "lucide-react";
import { Fragment } from "react";

import type { PipelineDetail } from "@/api/schema";
import { cx } from "@/parts/cx";
import { StateIcon } from "@/parts/state/StateBadge";
import { duration, number } from "@/time/moment";

import { stateOf } from "./steps";

type Step = PipelineDetail["steps"][number];
type Done = PipelineDetail["runs"][number]["steps"][number];

const short = (name: string): string => name.split(".").at(-1) ?? name;

/** The steps of a pipeline in their order, each with the outcome of the last run. */
export function StepChain({ steps, last }: { steps: readonly Step[]; last: readonly Done[] }) {
  return (
    <ol className="flex flex-wrap items-stretch gap-y-3">
      {steps.map((step, index) => {
        const done = last[index];
        const kwargs = Object.entries(step.kwargs);
        return (
          <Fragment key={index}>
            {index ? (
              <li aria-hidden className="flex items-center px-1 text-muted max-md:w-full max-md:justify-center">
                <ChevronRight size={18} className="max-md:rotate-90" />
              </li>
            ) : null}
            <li
              className={cx(
                "flex w-60 flex-col max-md:w-full gap-1 rounded-lg border bg-surface p-3",
                done?.state === "failed" && "border-failed",
              )}
            >
              <span className="flex items-center gap-2 font-medium">
                {done ? <StateIcon state={stateOf(done)} /> : null}
                <span className="truncate" title={step.class}>
                  {short(step.class)}
                </span>
                <span className="ml-auto text-xs font-normal text-muted">line {step.line}</span>
              </span>
              <span className="min-h-8 font-mono text-xs break-all text-muted">
                {kwargs.length ? kwargs.map(([name, value]) => `${name}: ${brief(value)}`).join(" · ") : "no settings"}
              </span>
              {done ? (
                <span className="mt-auto border-t pt-1 text-xs text-muted">
                  {number(done.in)} in · {number(done.out)} out
                  {done.failed ? <span className="text-failed-ink"> · {number(done.failed)} failed</span> : null} ·{" "}
                  {duration(done.seconds * 1000)}
                </span>
              ) : null}
            </li>
          </Fragment>
        );
      })}
    </ol>
  );
}

function brief(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 59)}…` : text;
}
