import { ChevronDown } from "lucide-react";
import { Popover } from "radix-ui";
import { type ComponentProps, useEffect, useState } from "react";

import { setPrefs, usePrefs, useZone } from "@/prefs";
import { mark } from "@/time/zone";

import type ZoneList from "./ZoneList";

export const loadZones = () => import("./ZoneList");

/** The lazily loaded list; a failed import is repeated whenever the picker is opened. */
function Zones(props: ComponentProps<typeof ZoneList>) {
  const [List, setList] = useState<typeof ZoneList | null>(null);
  const [away, setAway] = useState(false);
  useEffect(() => {
    let open = true;
    loadZones().then(
      (code) => open && setList(() => code.default),
      () => open && setAway(true),
    );
    return () => {
      open = false;
    };
  }, []);
  if (List) return <List {...props} />;
  return away ? (
    <p role="status" className="p-4 text-sm text-muted">
      Cannot load time zones while the server is offline. Try again once it is back.
    </p>
  ) : null;
}

/** Picks the display zone of the dashboard. */
export function ZonePicker() {
  const zone = useZone();
  const { zone: chosen } = usePrefs();
  const [open, setOpen] = useState(false);
  const short = mark(Date.now(), zone);
  return (
    <Popover.Root open={open} onOpenChange={setOpen}>
      <Popover.Trigger
        className="flex items-center gap-1 rounded px-2 py-1 text-xs text-muted hover:bg-surface hover:text-ink"
        title={`All times are in ${zone}`}
        aria-label={`${short}, time zone ${zone}`}
      >
        {short}
        <ChevronDown size={12} aria-hidden />
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Content
          align="end"
          sideOffset={6}
          aria-label="Time zone"
          className="z-50 min-h-40 w-80 max-w-[calc(100vw-24px)] animate-appear rounded-lg bg-raised shadow-overlay"
        >
          <Zones
            chosen={chosen}
            onChoose={(to) => {
              setPrefs({ zone: to });
              setOpen(false);
            }}
          />
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}
