import { useQuery } from "@tanstack/react-query";
import { Command } from "cmdk";
import { ChevronDown } from "lucide-react";
import { Popover } from "radix-ui";
import { useState } from "react";

import { ask } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import { Field, INPUT } from "@/parts/form/Field";
import { allZones, browserZone, city, mark, offsetMark } from "@/time/zone";

const SHOWN = 60;

/** A zone from the list, never free text; "PT", "CET", "Stockholm" and "+01:00" find theirs. */
export function ZoneField({
  value,
  onChange,
  hint,
}: {
  value: string;
  onChange: (zone: string) => void;
  hint?: string;
}) {
  const [open, setOpen] = useState(false);
  const [typed, setTyped] = useState("");
  const now = Date.now();
  const { data } = useQuery({
    queryKey: queryKeys.suggest("zone", typed),
    queryFn: ({ signal }) => ask("/api/suggest", { query: { field: "zone", prefix: typed, limit: 20 }, signal }),
    enabled: open && typed.trim() !== "",
    placeholderData: (before) => before,
    retry: false,
    staleTime: 300_000,
  });
  const near = typed.trim().toLowerCase().replaceAll(" ", "_");
  const suggested = near ? (data?.items ?? []) : [];
  const found = open
    ? allZones()
        .filter(
          (zone) =>
            !suggested.some((other) => other.value === zone) &&
            (zone.toLowerCase().includes(near) || mark(now, zone).toLowerCase() === near),
        )
        .slice(0, SHOWN)
    : [];
  const choose = (zone: string): void => {
    onChange(zone);
    setOpen(false);
    setTyped("");
  };
  return (
    <Field name="timezone" label="Time zone" hint={hint}>
      {(wired) => (
        <Popover.Root open={open} onOpenChange={setOpen}>
          <Popover.Trigger {...wired} className={`${INPUT} flex items-center justify-between gap-2 text-left`}>
            <span className="truncate">
              {value}{" "}
              <span className="text-muted">
                (
                {mark(now, value) === offsetMark(now, value)
                  ? mark(now, value)
                  : `${mark(now, value)}, ${offsetMark(now, value)}`}
                )
              </span>
            </span>
            <ChevronDown size={14} className="shrink-0 text-muted" aria-hidden />
          </Popover.Trigger>
          <Popover.Portal>
            <Popover.Content
              align="start"
              sideOffset={4}
              aria-label="Schedule time zone"
              className="z-50 w-[min(380px,calc(100vw-32px))] animate-appear rounded-lg bg-raised shadow-overlay"
            >
              <Command label="Time zones" shouldFilter={false}>
                <Command.Input
                  value={typed}
                  onValueChange={setTyped}
                  placeholder="City, abbreviation or offset"
                  className="h-10 w-full border-b bg-transparent px-3 outline-none"
                />
                <Command.List className="max-h-72 overflow-auto p-1">
                  {suggested.length || found.length ? null : <p className="p-3 text-muted">No matching time zone.</p>}
                  {near ? null : (
                    <>
                      <Item
                        zone={browserZone()}
                        label={`${browserZone()} – from your browser`}
                        value="browser"
                        onSelect={choose}
                      />
                      <Item zone="UTC" label="UTC – no daylight saving" value="utc" onSelect={choose} />
                    </>
                  )}
                  {suggested.map((zone) => (
                    <Item
                      key={zone.value}
                      zone={zone.value}
                      label={zone.label && zone.label !== zone.value ? `${zone.value} – ${zone.label}` : zone.value}
                      hint={zone.hint}
                      value={`from “${zone.value}”`}
                      onSelect={choose}
                    />
                  ))}
                  {found.map((zone) => (
                    <Item key={zone} zone={zone} label={zone} value={zone} onSelect={choose} />
                  ))}
                </Command.List>
              </Command>
            </Popover.Content>
          </Popover.Portal>
        </Popover.Root>
      )}
    </Field>
  );
}

function Item({
  zone,
  label,
  hint,
  value,
  onSelect,
}: {
  zone: string;
  label: string;
  hint?: string | null;
  value: string;
  onSelect: (zone: string) => void;
}) {
  return (
    <Command.Item
      value={value}
      onSelect={() => onSelect(zone)}
      className="flex cursor-pointer items-center gap-2 rounded-sm px-2 py-1.5 data-[selected=true]:bg-accent-tint"
      title={city(zone)}
    >
      <span className="truncate">{label}</span>
      <span className="ml-auto text-xs whitespace-nowrap text-muted">{hint || offsetMark(Date.now(), zone)}</span>
    </Command.Item>
  );
}
