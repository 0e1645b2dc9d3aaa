import { ChevronDown } from "lucide-react";
import { Popover, Tabs as Radix } from "radix-ui";
import { useState } from "react";

import { useSession } from "@/api/session";

import { Button } from "../Button";
import { Segments } from "../Segments";
import { CopyButton } from "./CopyButton";
import { type Call, snippetsOf } from "./snippets";

/** A request as curl, CLI and Python code; of several requests, the first until another is chosen. */
export function CopyAs({ call, label = "Copy as" }: { call: Call | Readonly<Record<string, Call>>; label?: string }) {
  const [chosen, setChosen] = useState("");
  const calls = isCall(call) ? { "": call } : call;
  const what = chosen in calls ? chosen : (Object.keys(calls)[0] ?? "");
  const secured = useSession()?.mode === "secured";
  const snippets = snippetsOf(calls[what] as Call, window.location.origin, secured);
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
          {label}
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
          {Object.keys(calls).length > 1 ? (
            <div className="mb-2 flex">
              <Segments
                label="What"
                value={what}
                choices={Object.keys(calls).map((one) => [one, one] as const)}
                onChange={setChosen}
              />
            </div>
          ) : null}
          <Radix.Root key={what} defaultValue={first}>
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

const isCall = (call: Call | Readonly<Record<string, Call>>): call is Call => typeof call.path === "string";
