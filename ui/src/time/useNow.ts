import { useSyncExternalStore } from "react";

/** One clock for the whole page: as many watches as wanted, one timer per pace. Hidden tabs do not tick. */
class Pace {
  private now = Date.now();
  private timer: number | undefined;
  private readonly listeners = new Set<() => void>();

  constructor(private readonly every: number) {}

  readonly read = (): number => this.now;

  // The same function at every rendering: otherwise React would leave and come back each time.
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
    for (const tell of this.listeners) tell();
  }
}

const paces = new Map<number, Pace>();

/** Now, renewed every so many milliseconds (1 s unless told). */
export function useNow(every = 1000): number {
  let pace = paces.get(every);
  if (!pace) {
    pace = new Pace(every);
    paces.set(every, pace);
  }
  return useSyncExternalStore(pace.subscribe, pace.read);
}
