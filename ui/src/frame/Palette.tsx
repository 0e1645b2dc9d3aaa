import { useQuery } from "@tanstack/react-query";
import { Command } from "cmdk";
import { useEffect, useState } from "react";

import type { Suggestion } from "@/api/calls";
import { ask } from "@/api/client";
import { keys } from "@/api/keys";
import { useGo } from "@/parts/useUrl";
import { setPrefs, themeNow } from "@/prefs";

import { PLACES } from "./places";

const ADDRESS: Record<string, (value: string) => string> = {
  schedule: (value) => `/schedules/${value}`,
  run: (value) => `/runs/${value}`,
  pipeline: (value) => `/pipelines/${encodeURIComponent(value)}`,
  queue: (value) => `/queues?queue=${encodeURIComponent(value)}`,
};

/** ⌘K: any page, schedule, run, pipeline or queue, and the commands. */
export default function Palette({ open, onClose }: { open: boolean; onClose: () => void }) {
  const go = useGo();
  const [text, setText] = useState("");
  const [asked, setAsked] = useState("");
  useEffect(() => {
    const timer = window.setTimeout(() => setAsked(text.trim()), 120);
    return () => window.clearTimeout(timer);
  }, [text]);
  const { data } = useQuery({
    queryKey: keys.suggest("any", asked),
    queryFn: ({ signal }) =>
      ask<{ items: Suggestion[] }>("/api/suggest", { query: { field: "any", prefix: asked, limit: 12 }, signal }),
    enabled: open && asked.length > 0,
    placeholderData: (before) => before,
    retry: false,
  });
  const found = asked ? (data?.items ?? []).filter((one) => ADDRESS[one.field]) : [];
  const act = (what: () => void) => () => {
    onClose();
    setText("");
    what();
  };
  return (
    <Command.Dialog
      open={open}
      onOpenChange={(now) => (now ? undefined : onClose())}
      label="Search or run a command"
      overlayClassName="fixed inset-0 z-40 bg-veil"
      contentClassName="fixed top-[12vh] left-1/2 z-50 w-[calc(100vw-24px)] max-w-xl -translate-x-1/2 animate-appear overflow-hidden rounded-lg bg-raised shadow-overlay"
    >
      <Command.Input
        value={text}
        onValueChange={setText}
        placeholder="Search or run a command…"
        className="h-12 w-full border-b bg-transparent px-4 text-base outline-none"
      />
      <Command.List className="max-h-[50vh] overflow-auto p-2">
        <Command.Empty className="p-4 text-center text-muted">
          Nothing of this name. Ids are found by their beginning.
        </Command.Empty>
        {found.length ? (
          <Group heading="Found">
            {found.map((one) => (
              <Line
                key={`${one.field}:${one.value}`}
                value={`${text} ${one.field} ${one.value} ${one.label}`}
                label={one.label}
                hint={`${one.field}${one.hint ? ` · ${one.hint}` : ""}`}
                onSelect={act(() => go((ADDRESS[one.field] as (value: string) => string)(one.value)))}
              />
            ))}
          </Group>
        ) : null}
        <Group heading="Commands">
          <Line value="new schedule create" label="New schedule" hint="n" onSelect={act(() => go("/schedules/new"))} />
          <Line
            value="failed runs today"
            label="Failed runs of the last 24 hours"
            hint=""
            onSelect={act(() => go("/runs?q=state%3Afailed%2Cdead_letter%20since%3A24h"))}
          />
          <Line
            value="api key create copy"
            label="Create an API key"
            hint=""
            onSelect={act(() => go("/settings/keys"))}
          />
          <Line
            value="theme dark light"
            label="Switch the theme"
            hint="t"
            onSelect={act(() => setPrefs({ theme: themeNow() === "dark" ? "light" : "dark" }))}
          />
        </Group>
        <Group heading="Pages">
          {PLACES.map((place) => (
            <Line
              key={place.to}
              value={`go ${place.label}`}
              label={place.label}
              hint={`g ${place.key}`}
              onSelect={act(() => go(place.to))}
            />
          ))}
        </Group>
      </Command.List>
    </Command.Dialog>
  );
}

function Group({ heading, children }: { heading: string; children: React.ReactNode }) {
  return (
    <Command.Group
      heading={heading}
      className="[&_[cmdk-group-heading]]:px-2 [&_[cmdk-group-heading]]:py-1 [&_[cmdk-group-heading]]:text-xs [&_[cmdk-group-heading]]:text-muted"
    >
      {children}
    </Command.Group>
  );
}

function Line({ value, label, hint, onSelect }: { value: string; label: string; hint: string; onSelect: () => void }) {
  return (
    <Command.Item
      value={value}
      onSelect={onSelect}
      className="flex cursor-pointer items-center gap-3 rounded px-2 py-1.5 data-[selected=true]:bg-accent-tint"
    >
      <span className="truncate">{label}</span>
      <span className="ml-auto text-xs whitespace-nowrap text-muted">{hint}</span>
    </Command.Item>
  );
}
