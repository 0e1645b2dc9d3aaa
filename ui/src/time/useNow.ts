import { useSyncExternalStore } from "react";

/** One clock for the whole page: one timer per interval, however many subscribers. Hidden tabs do not tick. */
class Pace {
  private now = Date.now();
  private timer: number | undefined;
  private readonly listeners = new Set<() => void>();

  constructor(private readonly every: number) {}

  readonly read = (): number => this.now;

  // Stable functions: otherwise React would resubscribe at every render.
  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    this.timer ??= window.setInterval(() => this.tick(), this.every);
    if (Date.now() - this.now > this.every) this.tick();
    return () => {
      this.listeners.delete(listener);
      if (this.listeners.size > 0) return;
      window.clearInterval(this.timer);
      this.timer = undefined;
    };
  };

  private tick(): void {
    if (document.hidden) return;
    this.now = Date.now();
    for (const listener of this.listeners) listener();
  }
}

const paces = new Map<number, Pace>();

/** The current time, updated every so many milliseconds (1 s by default). */
export function useNow(every = 1000): number {
  let pace = paces.get(every);
  if (!pace) {
    pace = new Pace(every);
    paces.set(every, pace);
  }
  return useSyncExternalStore(pace.subscribe, pace.read);
}
