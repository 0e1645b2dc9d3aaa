import type { ComponentType } from "react";

import { useMay } from "@/api/session";
import { cx } from "@/parts/cx";
import { Go } from "@/parts/Go";
import { Page } from "@/parts/Page";
import { useParam } from "@/parts/useUrl";

import { Appearance } from "./settings/Appearance";
import { Keys } from "./settings/Keys";
import { Members } from "./settings/Members";
import { Secrets } from "./settings/Secrets";
import { System } from "./settings/System";

interface Part {
  id: string;
  label: string;
  shows: ComponentType;
  /** What one must be allowed to do to see it. */
  may?: string;
}

const PARTS: readonly Part[] = [
  { id: "appearance", label: "Appearance", shows: Appearance },
  { id: "keys", label: "API keys", shows: Keys, may: "read:key" },
  { id: "secrets", label: "Secrets", shows: Secrets, may: "read:secret" },
  { id: "members", label: "Members", shows: Members, may: "read:trail" },
  { id: "system", label: "System", shows: System },
];

export default function Settings() {
  const wanted = useParam("part");
  const readKey = useMay("read:key");
  const readSecret = useMay("read:secret");
  const readTrail = useMay("read:trail");
  const allowed: Record<string, boolean> = { "read:key": readKey, "read:secret": readSecret, "read:trail": readTrail };
  const parts = PARTS.filter((one) => !one.may || allowed[one.may]);
  const part = parts.find((one) => one.id === wanted) ?? parts[0];
  const Shown = part?.shows ?? Appearance;
  return (
    <Page title="Settings" tab={`${part?.label ?? "Settings"} – settings`}>
      <div className="flex gap-6 max-md:flex-col">
        <nav aria-label="Settings" className="flex shrink-0 gap-1 max-md:flex-wrap md:w-44 md:flex-col">
          {parts.map((one) => (
            <Go
              key={one.id}
              to={`/settings/${one.id}`}
              className={cx(
                "rounded px-3 py-1.5 text-sm",
                one === part ? "bg-accent-tint font-medium text-ink" : "text-muted hover:bg-surface hover:text-ink",
              )}
            >
              {one.label}
            </Go>
          ))}
        </nav>
        <div className="flex min-w-0 max-w-4xl flex-1 flex-col gap-4">
          <Shown />
        </div>
      </div>
    </Page>
  );
}
