import { useQuery } from "@tanstack/react-query";
import { Command } from "cmdk";
import { useMemo, useState } from "react";

import { ask } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import { allZones, browserZone, offsetMark } from "@/time/zone";

/** Each zone costs the browser a calendar of its own, so only so many are listed. */
const MOST = 40;

/** Zones by name; the server also resolves abbreviations and offsets: PT, CET, +01:00. */
export default function ZoneList({ chosen, onChoose }: { chosen: string; onChoose: (zone: string) => void }) {
  const [typed, setTyped] = useState("");
  const text = typed.trim();
  const { data } = useQuery({
    queryKey: queryKeys.suggest("zone", text),
    queryFn: ({ signal }) => ask("/api/suggest", { query: { field: "zone", prefix: text, limit: 5 }, signal }),
    enabled: text.length > 0,
    retry: false,
  });
  const found = useMemo(() => {
    const wanted = text.toLowerCase().replaceAll(" ", "_");
    const named = allZones().filter((zone) => zone.toLowerCase().includes(wanted));
    const called = (text && data?.items.map((item) => item.value)) || [];
    return [...new Set([...called, ...named])].slice(0, MOST);
  }, [text, data]);
  const here = browserZone();
  return (
    <Command label="Time zone" shouldFilter={false}>
      <Command.Input
        value={typed}
        onValueChange={setTyped}
        placeholder="City, abbreviation or offset"
        autoFocus
        className="h-10 w-full border-b bg-transparent px-3 outline-none"
      />
      <Command.List className="max-h-72 overflow-auto p-1">
        <Command.Empty className="p-3 text-muted">No matching time zone.</Command.Empty>
        {text ? null : (
          <Zone
            value="browser"
            label={`${here} – from your browser`}
            at={here}
            chosen={chosen === "browser"}
            onSelect={() => onChoose("browser")}
          />
        )}
        {found.map((zone) => (
          <Zone
            key={zone}
            value={zone}
            label={zone}
            at={zone}
            chosen={chosen === zone}
            onSelect={() => onChoose(zone)}
          />
        ))}
      </Command.List>
    </Command>
  );
}

function Zone({
  value,
  label,
  at,
  chosen,
  onSelect,
}: {
  value: string;
  label: string;
  at: string;
  chosen: boolean;
  onSelect: () => void;
}) {
  return (
    <Command.Item
      value={value}
      onSelect={onSelect}
      className="flex cursor-pointer items-center gap-2 rounded-sm px-2 py-1.5 data-[selected=true]:bg-accent-tint"
    >
      <span className="w-3 text-accent">{chosen ? "✓" : ""}</span>
      <span className="truncate">{label}</span>
      <span className="ml-auto text-xs whitespace-nowrap text-muted">{offsetMark(Date.now(), at)}</span>
    </Command.Item>
  );
}
