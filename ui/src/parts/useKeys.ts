import { useEffect, useRef } from "react";

/**
 * Keyboard shortcuts by one listener for the whole page. The component mounted last has precedence; none applies in an
 * input.
 */
export type Keys = Record<string, ((event: KeyboardEvent) => void) | undefined>;

const layers: { current: Keys }[] = [];
let prefix = "";
let prefixAt = 0;
/** How long `g` waits for its second key. */
const PATIENCE = 1200;

const TYPING = "input, textarea, select, [contenteditable=true], [role=menu], [role=listbox], [role=combobox]";

/** `x`, `shift+x`, `mod+k`, `enter`, `g o`. */
export function nameOf(event: KeyboardEvent): string {
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key.toLowerCase();
  const letter = /^[a-z]$/.test(key);
  return `${event.metaKey || event.ctrlKey ? "mod+" : ""}${event.shiftKey && letter ? "shift+" : ""}${key === " " ? "space" : key}`;
}

function find(name: string): ((event: KeyboardEvent) => void) | undefined {
  for (let index = layers.length - 1; index >= 0; index -= 1) {
    const found = layers[index]?.current[name];
    if (found) return found;
  }
  return undefined;
}

function press(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.altKey) return;
  const target = event.target instanceof Element ? event.target : null;
  const name = nameOf(event);
  const modified = name.startsWith("mod+");
  if (!modified && target?.closest(TYPING)) return;
  if (name !== "mod+k" && document.querySelector("[role=dialog][data-state=open], [role=menu][data-state=open]"))
    return;
  // Enter and space belong to the button or link that has the focus.
  if ((name === "enter" || name === "space") && target?.closest("a, button, summary")) return;
  const waited = prefix && Date.now() - prefixAt < PATIENCE ? `${prefix} ${name}` : "";
  prefix = "";
  const action = (waited && find(waited)) || find(name);
  if (action) {
    event.preventDefault();
    action(event);
  } else if (name === "g") {
    prefix = "g";
    prefixAt = Date.now();
  }
}

export function useKeys(keys: Keys): void {
  const latest = useRef(keys);
  latest.current = keys;
  useEffect(() => {
    if (layers.length === 0) window.addEventListener("keydown", press);
    layers.push(latest);
    return () => {
      layers.splice(layers.indexOf(latest), 1);
      if (layers.length === 0) window.removeEventListener("keydown", press);
    };
  }, []);
}
