/** Preferences of this browser: zone, theme, density. Never sent to the server. */
import { useSyncExternalStore } from "react";

import { browserZone, knownZone } from "./time/zone";

export interface Prefs {
  /** An IANA name, or "browser". */
  zone: string;
  theme: "system" | "light" | "dark";
  density: "comfortable" | "default" | "compact";
  navFolded: boolean;
  wrap: boolean;
  inspectorWidth: number;
}

const KEY = "foliot.prefs";
const DEFAULTS: Prefs = {
  zone: "browser",
  theme: "system",
  density: "default",
  navFolded: false,
  // A phone has no room for a long line.
  wrap: window.matchMedia("(max-width: 767px)").matches,
  inspectorWidth: 360,
};
const ROWS = { comfortable: 34, default: 28, compact: 24 } as const;

const dark = window.matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set<() => void>();
let current = read();

function read(): Prefs {
  try {
    return { ...DEFAULTS, ...(JSON.parse(localStorage.getItem(KEY) ?? "{}") as Partial<Prefs>) };
  } catch {
    return DEFAULTS;
  }
}

export const themeNow = (): "light" | "dark" =>
  current.theme === "system" ? (dark.matches ? "dark" : "light") : current.theme;

function apply(): void {
  document.documentElement.dataset.theme = themeNow();
  document.documentElement.style.setProperty("--row", `${ROWS[current.density]}px`);
  for (const listener of listeners) listener();
}

export function setPrefs(change: Partial<Prefs>): void {
  current = { ...current, ...change };
  try {
    localStorage.setItem(KEY, JSON.stringify(current));
  } catch {
    // Private windows may refuse; the choice then lasts as long as the page.
  }
  apply();
}

export function startPrefs(): void {
  dark.addEventListener("change", apply);
  // Changed in another tab.
  window.addEventListener("storage", (event) => {
    if (event.key === KEY) {
      current = read();
      apply();
    }
  });
  apply();
}

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

export const usePrefs = (): Prefs => useSyncExternalStore(subscribe, () => current);

export const useTheme = (): "light" | "dark" => useSyncExternalStore(subscribe, themeNow);

/** The display zone. */
export function useZone(): string {
  const { zone } = usePrefs();
  return zone !== "browser" && knownZone(zone) ? zone : browserZone();
}

export const useRowHeight = (): number => ROWS[usePrefs().density];
