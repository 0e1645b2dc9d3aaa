/** The state of a run that corresponds to the state of a step. */
const STATES: Record<string, string> = { done: "success", waiting: "queued", stopped: "cancelled" };

export const stateOf = ({ state, failed }: { state: string; failed: number }): string =>
  state === "done" && failed ? "partial" : (STATES[state] ?? state);
