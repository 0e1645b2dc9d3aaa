import { Tabs as Radix } from "radix-ui";
import type { ReactNode } from "react";

import { useUrl } from "./useUrl";

export interface Tab {
  id: string;
  label: ReactNode;
  content: ReactNode;
}

/** Tabs whose choice is in the URL (`?tab=`). The first is the default. */
export function Tabs({
  tabs,
  name = "tab",
  fill,
  aside,
}: {
  tabs: Tab[];
  name?: string;
  fill?: boolean;
  aside?: ReactNode;
}) {
  const first = tabs[0]?.id ?? "";
  const [chosen, choose] = useUrl(name, first);
  const open = tabs.some((tab) => tab.id === chosen) ? chosen : first;
  return (
    <Radix.Root
      value={open}
      onValueChange={(value) => choose(value)}
      className={fill ? "flex min-h-0 flex-1 flex-col" : undefined}
    >
      <div className="flex items-center border-b">
        <Radix.List className="-mb-px flex min-w-0 overflow-x-auto overflow-y-hidden">
          {tabs.map((tab) => (
            <Radix.Trigger
              key={tab.id}
              value={tab.id}
              className="border-b-2 border-transparent px-3 py-2 whitespace-nowrap text-muted hover:text-ink focus-visible:-outline-offset-2 data-[state=active]:border-accent data-[state=active]:font-medium data-[state=active]:text-ink"
            >
              {tab.label}
            </Radix.Trigger>
          ))}
        </Radix.List>
        {aside ? <div className="ml-auto">{aside}</div> : null}
      </div>
      {tabs.map((tab) => (
        <Radix.Content
          key={tab.id}
          value={tab.id}
          className={fill ? "min-h-0 flex-1 data-[state=active]:flex data-[state=active]:flex-col" : "pt-4"}
        >
          {tab.content}
        </Radix.Content>
      ))}
    </Radix.Root>
  );
}
