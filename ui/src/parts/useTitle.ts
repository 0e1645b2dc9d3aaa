import { useEffect } from "react";

import { lookOf } from "./state/states";

/** Sets the title of the tab and, when the page has a state, a dot in its colour on the icon. */
export function useTitle(title: string, state?: string): void {
  useEffect(() => {
    document.title = `${title} – foliot`;
  }, [title]);
  useEffect(() => {
    const link = document.querySelector<HTMLLinkElement>("link[rel=icon]");
    if (!link || !state) return undefined;
    const colour = getComputedStyle(document.documentElement)
      .getPropertyValue(`--${lookOf(state).tone}`)
      .trim();
    link.href = `data:image/svg+xml,${encodeURIComponent(
      `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#4F46E5"/><path d="M16 6v20M7 11h18M7 8v6M25 8v6" stroke="#fff" stroke-width="3" stroke-linecap="round" fill="none"/><circle cx="25" cy="25" r="7" fill="${colour}" stroke="#fff" stroke-width="2"/></svg>`,
    )}`;
    return () => {
      link.href = "/favicon.svg";
    };
  }, [state]);
}
