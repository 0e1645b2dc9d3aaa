import { type RefObject, useLayoutEffect, useRef, useState, useSyncExternalStore } from "react";

/** The width of an element, followed. */
export function useWidth<T extends Element>(): [RefObject<T | null>, number] {
  const ref = useRef<T>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return undefined;
    setWidth(element.clientWidth);
    const watcher = new ResizeObserver(() => setWidth(element.clientWidth));
    watcher.observe(element);
    return () => watcher.disconnect();
  }, []);
  return [ref, width];
}

export function useMedia(query: string): boolean {
  return useSyncExternalStore(
    (listener) => {
      const media = window.matchMedia(query);
      media.addEventListener("change", listener);
      return () => media.removeEventListener("change", listener);
    },
    () => window.matchMedia(query).matches,
  );
}

/** A finger, which hits less exactly than a mouse and cannot hover. */
export const useFinger = (): boolean => useMedia("(pointer: coarse)");

/** A telephone: tables become cards. */
export const useNarrow = (): boolean => useMedia("(max-width: 767px)");
