/** Steps have words of their own; these are those of runs. */
const STATES: Record<string, string> = { done: "success", waiting: "queued", stopped: "cancelled" };

export const stateOf = ({ state, failed }: { state: string; failed: number }): string =>
  state === "done" && failed ? "partial" : (STATES[state] ?? state);
