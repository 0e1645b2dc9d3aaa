import { useQuery } from "@tanstack/react-query";
import { Command } from "cmdk";
import { useEffect, useState } from "react";

import { ask } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import { useNavigateTo } from "@/parts/useUrl";
import { setPrefs, themeNow } from "@/prefs";

import { PAGES } from "./navigation";

const ADDRESS: Record<string, (value: string) => string> = {
  schedule: (value) => `/schedules/${value}`,
  run: (value) => `/runs/${value}`,
  pipeline: (value) => `/pipelines/${encodeURIComponent(value)}`,
  queue: (value) => `/queues?queue=${encodeURIComponent(value)}`,
};

interface Line {
  /** A stable id, whatever is typed. */
  value: string;
  label: string;
  hint: string;
  /** Further search terms. */
  words?: string;
  act: () => void;
}

/** The local entries that contain every typed word. */
function matching(lines: Line[], text: string): Line[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return lines.filter((line) => {
    const text = `${line.label} ${line.words ?? ""}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

/** ⌘K: any page, schedule, run, pipeline or queue, and the commands. */
export default function Palette({ open, onClose }: { open: boolean; onClose: () => void }) {
  const go = useNavigateTo();
  const [text, setText] = useState("");
  const [asked, setAsked] = useState("");
  const [chosen, setChosen] = useState("");
  useEffect(() => {
    const timer = window.setTimeout(() => setAsked(text.trim()), 120);
    return () => window.clearTimeout(timer);
  }, [text]);
  const { data, isPlaceholderData } = useQuery({
    queryKey: queryKeys.suggest("any", asked),
    queryFn: ({ signal }) => ask("/api/suggest", { query: { field: "any", prefix: asked, limit: 12 }, signal }),
    enabled: open && asked.length > 0,
    placeholderData: (before) => before,
    retry: false,
  });
  const known: Line[] = (asked ? (data?.items ?? []) : []).flatMap((suggestion) => {
    const address = ADDRESS[suggestion.field];
    const hint = `${suggestion.field}${suggestion.hint ? ` · ${suggestion.hint}` : ""}`;
    return address
      ? [
          {
            value: `${suggestion.field}:${suggestion.value}`,
            label: suggestion.label,
            hint,
            words: suggestion.value,
            act: () => go(address(suggestion.value)),
          },
        ]
      : [];
  });
  // Suggestions for a shorter text are kept only as far as they match the new one.
  const found = asked === text.trim() && !isPlaceholderData ? known : text.trim() ? matching(known, text) : [];
  const commands: Line[] = [
    { value: "new", label: "New schedule", words: "create", hint: "n", act: () => go("/schedules/new") },
    {
      value: "failed",
      label: "Failed runs, last 24 hours",
      words: "today",
      hint: "",
      act: () => go("/runs?q=state%3Afailed%2Cdead_letter%20since%3A24h"),
    },
    { value: "key", label: "Create API key", words: "copy", hint: "", act: () => go("/settings/keys") },
    {
      value: "theme",
      label: "Switch theme",
      words: "dark light",
      hint: "t",
      act: () => setPrefs({ theme: themeNow() === "dark" ? "light" : "dark" }),
    },
  ];
  const places: Line[] = PAGES.map((place) => ({
    value: place.to,
    label: place.label,
    words: "go",
    hint: `g ${place.key}`,
    act: () => go(place.to),
  }));
  const groups = [
    { heading: "Results", lines: found },
    { heading: "Commands", lines: matching(commands, text) },
    { heading: "Pages", lines: matching(places, text) },
  ].filter((group) => group.lines.length > 0);
  // One entry is always selected: the previous one while it is listed, otherwise the first.
  const values = groups.flatMap((group) => group.lines.map((line) => line.value));
  const now = values.includes(chosen) ? chosen : (values[0] ?? "");
  return (
    <Command.Dialog
      open={open}
      onOpenChange={(opened) => (opened ? undefined : onClose())}
      label="Search or run a command"
      shouldFilter={false}
      value={now}
      onValueChange={setChosen}
      overlayClassName="fixed inset-0 z-40 bg-veil"
      contentClassName="fixed top-[12vh] left-1/2 z-50 w-[calc(100vw-24px)] max-w-xl -translate-x-1/2 animate-appear overflow-hidden rounded-lg bg-raised shadow-overlay"
    >
      <Command.Input
        value={text}
        onValueChange={(typed) => {
          setText(typed);
          setChosen("");
        }}
        placeholder="Search or run a command…"
        className="h-12 w-full border-b bg-transparent px-4 text-base outline-none"
      />
      <Command.List className="max-h-[50vh] overflow-auto p-2">
        <Command.Empty className="p-4 text-center text-muted">
          No results. IDs can be found by their first characters.
        </Command.Empty>
        {groups.map((group) => (
          <Command.Group
            key={group.heading}
            heading={group.heading}
            className="[&_[cmdk-group-heading]]:px-2 [&_[cmdk-group-heading]]:py-1 [&_[cmdk-group-heading]]:text-xs [&_[cmdk-group-heading]]:text-muted"
          >
            {group.lines.map((line) => (
              <Command.Item
                key={line.value}
                value={line.value}
                onSelect={() => {
                  onClose();
                  setText("");
                  line.act();
                }}
                className="flex cursor-pointer items-center gap-3 rounded px-2 py-1.5 data-[selected=true]:bg-accent-tint"
              >
                <span className="truncate">{line.label}</span>
                <span className="ml-auto text-xs whitespace-nowrap text-muted">{line.hint}</span>
              </Command.Item>
            ))}
          </Command.Group>
        ))}
      </Command.List>
    </Command.Dialog>
  );
}
