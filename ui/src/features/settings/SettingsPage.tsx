import type { ComponentType } from "react";

import { usePermission } from "@/api/session";
import { Keys } from "@/features/api_keys/ApiKeys";
import { Calendars } from "@/features/calendars/Calendars";
import { System } from "@/features/health/System";
import { Secrets } from "@/features/secrets/Secrets";
import { Members } from "@/features/sessions/Members";
import { cx } from "@/parts/cx";
import { Link } from "@/parts/Link";
import { Page } from "@/parts/Page";
import { useParam } from "@/parts/useUrl";

import { Appearance } from "./Appearance";

interface Part {
  id: string;
  label: string;
  shows: ComponentType;
  /** The permission that the section requires. */
  may?: string;
}

const PARTS: readonly Part[] = [
  { id: "appearance", label: "Appearance", shows: Appearance },
  { id: "calendars", label: "Calendars", shows: Calendars, may: "read:calendar" },
  { id: "keys", label: "API keys", shows: Keys, may: "read:key" },
  { id: "secrets", label: "Secrets", shows: Secrets, may: "read:secret" },
  { id: "members", label: "Members", shows: Members, may: "read:trail" },
  { id: "system", label: "System", shows: System },
];

export default function SettingsPage() {
  const wanted = useParam("part");
  const readCalendar = usePermission("read:calendar");
  const readKey = usePermission("read:key");
  const readSecret = usePermission("read:secret");
  const readAuditLog = usePermission("read:trail");
  const allowed: Record<string, boolean> = {
    "read:calendar": readCalendar,
    "read:key": readKey,
    "read:secret": readSecret,
    "read:trail": readAuditLog,
  };
  const parts = PARTS.filter((part) => !part.may || allowed[part.may]);
  const part = parts.find((part) => part.id === wanted) ?? parts[0];
  const Shown = part?.shows ?? Appearance;
  return (
    <Page title="Settings" tab={`${part?.label ?? "Settings"} – settings`}>
      <div className="flex gap-6 max-md:flex-col">
        <nav aria-label="Settings" className="flex shrink-0 gap-1 max-md:flex-wrap md:w-44 md:flex-col">
          {parts.map((entry) => (
            <Link
              key={entry.id}
              to={`/settings/${entry.id}`}
              className={cx(
                "rounded px-3 py-1.5 text-sm",
                entry === part ? "bg-accent-tint font-medium text-ink" : "text-muted hover:bg-surface hover:text-ink",
              )}
            >
              {entry.label}
            </Link>
          ))}
        </nav>
        <div className="flex min-w-0 max-w-4xl flex-1 flex-col gap-4">
          <Shown />
        </div>
      </div>
    </Page>
  );
}
