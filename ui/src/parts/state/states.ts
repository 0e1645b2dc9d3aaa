/** The one place that maps a state to its word, its icon and its colour. */
import {
  ArchiveX,
  Ban,
  Circle,
  CircleAlert,
  CircleCheck,
  CircleDashed,
  CirclePause,
  CircleSlash,
  CircleX,
  Clock,
  Copy,
  Layers,
  LoaderCircle,
  type LucideIcon,
  RotateCw,
} from "lucide-react";

import { HalfCheck } from "./HalfCheck";

export type Tone = "success" | "running" | "attention" | "failed" | "dead" | "neutral";

export interface Look {
  label: string;
  icon: LucideIcon | typeof HalfCheck;
  tone: Tone;
  /** Drawn as a filled shape, not as an outline. */
  solid: boolean;
  means: string;
}

const look = (label: string, icon: Look["icon"], tone: Tone, means: string, solid = false): Look => ({
  label,
  icon,
  tone,
  solid,
  means,
});

export const STATES = {
  scheduled: look("scheduled", Circle, "neutral", "Will run in the future"),
  planned: look("planned", Circle, "neutral", "Will run in the future"),
  active: look("active", Circle, "success", "Runs on schedule"),
  paused: look("paused", CirclePause, "neutral", "Will not run until resumed"),
  completed: look("completed", CircleCheck, "neutral", "All scheduled times have passed"),
  deleted: look("deleted", Ban, "neutral", "Removed"),
  queued: look("queued", Layers, "neutral", "Waiting for a worker"),
  running: look("running", LoaderCircle, "running", "A worker is running it now"),
  retrying: look("retrying", RotateCw, "attention", "An attempt failed; the next one is scheduled"),
  success: look("success", CircleCheck, "success", "Finished successfully", true),
  partial: look("partial", HalfCheck, "attention", "Finished, some items failed"),
  degraded: look("degraded", CircleAlert, "attention", "Finished, but its data broke an expectation"),
  ok: look("ok", CircleCheck, "success", "Its last call succeeded", true),
  failing: look("failing", CircleX, "failed", "Its last call failed", true),
  failed: look("failed", CircleX, "failed", "The last attempt failed", true),
  dead_letter: look("dead letter", ArchiveX, "dead", "Every attempt failed; its payload is kept for replay"),
  cancelled: look("cancelled", Ban, "neutral", "Stopped by a person or a program"),
  cached: look("cached", Copy, "neutral", "Uses an earlier result"),
  skipped: look("skipped", CircleSlash, "neutral", "Did not run: the previous run was still active"),
  missed: look("missed", CircleAlert, "attention", "Did not run: the scheduler was down or too late"),
  pruned: look("pruned", CircleDashed, "neutral", "Its run was removed by retention"),
  ran: look("ran", CircleCheck, "success", "A run was created", true),
  late: look("late", Clock, "attention", "Started later than the grace period allows"),
} as const satisfies Record<string, Look>;

export type StateName = keyof typeof STATES;

const UNKNOWN: Look = look("unknown", CircleDashed, "neutral", "Unknown state");

export const lookOf = (state: string): Look =>
  state in STATES ? STATES[state as StateName] : { ...UNKNOWN, label: state.replaceAll("_", " ") };

/** The order of states in legends and stacks: successes below, failures on top. */
export const STACK = [
  "success",
  "partial",
  "degraded",
  "running",
  "queued",
  "retrying",
  "cancelled",
  "failed",
  "dead_letter",
] as const;

export const FINAL: ReadonlySet<string> = new Set([
  "success",
  "partial",
  "degraded",
  "failed",
  "dead_letter",
  "cancelled",
]);

/** `var(--success)` and its like, for SVG. */
export const fill = (tone: Tone): string => `var(--${tone})`;
