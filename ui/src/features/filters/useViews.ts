import { useCallback, useMemo, useSyncExternalStore } from "react";

import { useSession } from "@/api/session";

import { readViews, type View } from "./views";

const CHANGED = "foliot-views";

const subscribe = (listener: () => void): (() => void) => {
  // The `storage` event reaches other tabs only; this tab has its own event.
  window.addEventListener("storage", listener);
  window.addEventListener(CHANGED, listener);
  return () => {
    window.removeEventListener("storage", listener);
    window.removeEventListener(CHANGED, listener);
  };
};

function kept(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

/** The saved views of one list, kept in the browser per tenant and user. */
export function useViews(list: string): [views: readonly View[], keep: (views: readonly View[]) => boolean] {
  const session = useSession();
  const key = `foliot.views.${list}.${session?.tenant_id ?? ""}.${session?.user_id ?? ""}`;
  const text = useSyncExternalStore(subscribe, () => kept(key));
  const views = useMemo(() => readViews(text), [text]);
  const keep = useCallback(
    (next: readonly View[]) => {
      try {
        localStorage.setItem(key, JSON.stringify(next));
      } catch {
        return false;
      }
      window.dispatchEvent(new Event(CHANGED));
      return true;
    },
    [key],
  );
  return [views, keep];
}
