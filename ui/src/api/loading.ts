import { ask } from "./client";

/**
 * Loads code; when the server does not answer, the error says so. Without it the router, which takes every failure for
 * a new version, would load the window anew, and the browser would put its own error in place of the dashboard.
 */
export const loading =
  <T>(load: () => Promise<T>): (() => Promise<T>) =>
  () =>
    load().catch(async (error: unknown) => {
      await ask("/api/session");
      throw error;
    });

/** Loads the rest while nothing else is to do: the first click on a page is as fast as the second, and needs no server. */
export function whenIdle(loads: readonly (() => Promise<unknown>)[]): void {
  const [next, ...rest] = loads;
  if (!next) return;
  const idle = window.requestIdleCallback ?? ((act: () => void) => window.setTimeout(act, 200));
  // What cannot be had now is asked for again when it is needed.
  idle(
    () =>
      void next().then(
        () => whenIdle(rest),
        () => undefined,
      ),
  );
}
