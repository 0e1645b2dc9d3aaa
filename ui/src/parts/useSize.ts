import { type RefObject, useLayoutEffect, useRef, useState, useSyncExternalStore } from "react";

/** The width of an element, updated on resize. */
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

/** A touch screen: less exact than a mouse, and without hover. */
export const useCoarsePointer = (): boolean => useMedia("(pointer: coarse)");

/** A narrow screen: tables become cards. */
export const useNarrow = (): boolean => useMedia("(max-width: 767px)");
