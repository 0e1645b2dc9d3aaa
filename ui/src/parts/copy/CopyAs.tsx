import { ChevronDown } from "lucide-react";
import { Popover, Tabs as Radix } from "radix-ui";
import { useState } from "react";

import { useSession } from "@/api/session";

import { Button } from "../Button";
import { Segments } from "../Segments";
import { CopyButton } from "./CopyButton";
import { type Call, snippetsOf } from "./snippets";

/** A request as curl, CLI and Python code; of several requests, the first until another is chosen. */
export function CopyAs({ call, others = [] }: { call: Call; others?: readonly Call[] }) {
  const [chosen, setChosen] = useState("");
  const secured = useSession()?.mode === "secured";
  const calls = [call, ...others];
  const shown = calls.find(({ verb }) => verb === chosen) ?? call;
  const snippets = snippetsOf(shown, window.location.origin, secured);
  const ways = [
    ["curl", snippets.curl],
    ["CLI", snippets.cli],
    ["Python", snippets.python],
  ] as const;
  const first = ways.find(([, text]) => text)?.[0] ?? "curl";
  return (
    <Popover.Root>
      <Popover.Trigger asChild>
        <Button>
          Copy as
          <ChevronDown size={14} aria-hidden />
        </Button>
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Content
          align="end"
          sideOffset={4}
          aria-label="Copy as"
          className="z-50 w-[min(560px,calc(100vw-32px))] animate-appear rounded-lg bg-raised p-3 shadow-overlay"
        >
          {others.length ? (
            <div className="mb-2 flex">
              <Segments
                label="What"
                value={shown.verb}
                choices={calls.map(({ verb }) => [verb, verb] as const)}
                onChange={setChosen}
              />
            </div>
          ) : (
            <h2 className="mb-2 text-sm font-medium">{shown.verb}</h2>
          )}
          <Radix.Root key={shown.verb} defaultValue={first}>
            <Radix.List aria-label="Language" className="mb-2 flex items-center gap-1">
              {ways.map(([name, text]) =>
                text ? (
                  <Radix.Trigger
                    key={name}
                    value={name}
                    className="rounded px-2 py-1 text-xs font-medium text-muted data-[state=active]:bg-accent-tint data-[state=active]:text-ink"
                  >
                    {name}
                  </Radix.Trigger>
                ) : null,
              )}
            </Radix.List>
            {ways.map(([name, text]) =>
              text ? (
                <Radix.Content key={name} value={name} className="relative">
                  <pre
                    tabIndex={0}
                    className="max-h-72 overflow-auto rounded border bg-surface p-3 pr-10 font-mono text-xs whitespace-pre-wrap break-all"
                  >
                    {text}
                  </pre>
                  <div className="absolute top-1 right-1">
                    <CopyButton text={text} />
                  </div>
                </Radix.Content>
              ) : null,
            )}
          </Radix.Root>
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}
