import { toast } from "sonner";

const DELAY = 5000;
const waiting = new Map<string, () => void>();
let toasts = 0;

/**
 * Does something five seconds from now, with a toast that undoes it until then. Asked again in the meantime, by the same
 * key or the toast's other button, it is done at once.
 */
export function undoable(key: string, what: string, act: () => unknown): void {
  const now = waiting.get(key);
  if (now) {
    now();
    return;
  }
  // A toast of its own each time: one that is still leaving would take the new one with it.
  const id = `${key} ${(toasts += 1)}`;
  const settle = (): void => {
    window.clearTimeout(timer);
    waiting.delete(key);
    toast.dismiss(id);
  };
  const fire = (): void => {
    settle();
    act();
  };
  const timer = window.setTimeout(fire, DELAY);
  waiting.set(key, fire);
  toast(`${what} in five seconds`, {
    id,
    duration: DELAY + 500,
    closeButton: false,
    action: { label: "Undo", onClick: settle },
    cancel: { label: "Now", onClick: fire },
  });
}
