import { ask } from "./client";

/**
 * Imports a chunk; when the server does not answer, the error says so. Otherwise the router, which takes every failed
 * import for a new version, would reload the window, and the browser would show its own error page.
 */
export const lazyImport =
  <T>(load: () => Promise<T>): (() => Promise<T>) =>
  () =>
    load().catch(async (error: unknown) => {
      await ask("/api/session");
      throw error;
    });

/**
 * Imports further chunks in the browser's idle time, so that the first click on a page is as fast as the second and
 * works offline.
 */
export function preloadWhenIdle(loads: readonly (() => Promise<unknown>)[]): void {
  const [next, ...rest] = loads;
  if (!next) return;
  const idle = window.requestIdleCallback ?? ((act: () => void) => window.setTimeout(act, 200));
  // A chunk that fails to load is imported again when it is needed.
  idle(
    () =>
      void next().then(
        () => preloadWhenIdle(rest),
        () => undefined,
      ),
  );
}
