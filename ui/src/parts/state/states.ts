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
  scheduled: look("scheduled", Circle, "neutral", "Will fire in the future"),
  planned: look("planned", Circle, "neutral", "Will fire in the future"),
  active: look("active", Circle, "success", "Fires at its instants"),
  paused: look("paused", CirclePause, "neutral", "Does not fire until it is resumed"),
  completed: look("completed", CircleCheck, "neutral", "Has fired all its instants"),
  deleted: look("deleted", Ban, "neutral", "Removed"),
  queued: look("queued", Layers, "neutral", "Waiting for a worker"),
  running: look("running", LoaderCircle, "running", "A worker executes it now"),
  retrying: look("retrying", RotateCw, "attention", "An attempt failed; the next one has its time"),
  success: look("success", CircleCheck, "success", "Finished, all items fine", true),
  partial: look("partial", HalfCheck, "attention", "Finished, some items failed"),
  failed: look("failed", CircleX, "failed", "The last attempt failed", true),
  dead_letter: look("dead letter", ArchiveX, "dead", "Gave up; its payload is kept among the dead letters"),
  cancelled: look("cancelled", Ban, "neutral", "A person or a program stopped it"),
  cached: look("cached", Copy, "neutral", "Points to an earlier result"),
  skipped: look("skipped", CircleSlash, "neutral", "Not run, for the one before still ran"),
  missed: look("missed", CircleAlert, "attention", "Not run, for the scheduler was down or too late"),
  pruned: look("pruned", CircleDashed, "neutral", "Its run was removed by retention"),
  ran: look("ran", CircleCheck, "success", "A run was made of it", true),
  late: look("late", Clock, "attention", "Started later than its grace allows"),
} as const satisfies Record<string, Look>;

export type StateName = keyof typeof STATES;

const UNKNOWN: Look = look("unknown", CircleDashed, "neutral", "A state that this dashboard does not know");

export const lookOf = (state: string): Look =>
  state in STATES ? STATES[state as StateName] : { ...UNKNOWN, label: state.replaceAll("_", " ") };

/** The order of states in legends and stacks: successes below, failures on top. */
export const STACK = [
  "success",
  "partial",
  "running",
  "queued",
  "retrying",
  "cancelled",
  "failed",
  "dead_letter",
] as const;

export const FINAL: ReadonlySet<string> = new Set(["success", "partial", "failed", "dead_letter", "cancelled"]);

/** `var(--success)` and its like, for SVG. */
export const fill = (tone: Tone): string => `var(--${tone})`;
