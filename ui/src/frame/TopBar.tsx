import { CircleHelp, LogOut, Menu as Burger, Moon, Search, Sun } from "lucide-react";

import { send } from "@/api/client";
import { useSession } from "@/api/session";
import { Button } from "@/parts/Button";
import { Kbd } from "@/parts/Kbd";
import { Menu } from "@/parts/Menu";
import { ZonePicker } from "@/parts/zone/ZonePicker";
import { setPrefs, useTheme } from "@/prefs";

import { LiveStatus } from "./LiveStatus";
import { MOD_K } from "./navigation";

export function TopBar({
  onPalette,
  onShortcuts,
  onNav,
}: {
  onPalette: () => void;
  onShortcuts: () => void;
  onNav: () => void;
}) {
  const theme = useTheme();
  const session = useSession();
  return (
    <header className="flex h-12 shrink-0 items-center gap-1 border-b px-2 md:px-4">
      <Button kind="quiet" className="md:hidden" aria-label="Pages" icon={<Burger size={18} />} onClick={onNav} />
      {session?.tenant_id ? (
        <span className="max-w-40 truncate px-2 font-medium max-sm:hidden" title="Current tenant">
          {session.tenant_id}
        </span>
      ) : null}
      <button
        type="button"
        onClick={onPalette}
        className="mx-auto flex h-8 w-full max-w-md items-center gap-2 rounded border bg-surface px-3 text-left text-muted hover:border-accent max-md:w-auto"
      >
        <Search size={14} aria-hidden />
        <span className="flex-1 truncate max-md:sr-only">Search or run a command…</span>
        <Kbd>{MOD_K}</Kbd>
      </button>
      <LiveStatus />
      <ZonePicker />
      <Button
        kind="quiet"
        aria-label={theme === "dark" ? "Light theme" : "Dark theme"}
        title="Theme (t)"
        icon={theme === "dark" ? <Sun size={16} /> : <Moon size={16} />}
        onClick={() => setPrefs({ theme: theme === "dark" ? "light" : "dark" })}
      />
      <Button
        kind="quiet"
        className="max-md:hidden"
        aria-label="Shortcuts"
        title="Shortcuts (?)"
        icon={<CircleHelp size={16} />}
        onClick={onShortcuts}
      />
      {session?.mode === "secured" ? (
        <Menu
          trigger={
            <button
              type="button"
              aria-label={`Signed in as ${session.user_id}`}
              className="size-7 rounded-full bg-accent-tint text-xs font-semibold text-accent"
            >
              {(session.user_id ?? "?").slice(0, 2).toUpperCase()}
            </button>
          }
          items={[
            {
              label: <span className="text-muted">{`${session.user_id} · ${session.role}`}</span>,
              onSelect: () => undefined,
              disabled: true,
            },
            {
              label: (
                <>
                  <LogOut size={14} aria-hidden /> Sign out
                </>
              ),
              onSelect: () => void send("DELETE", "/api/session").finally(() => window.location.assign("/login")),
            },
            {
              label: (
                <>
                  <LogOut size={14} aria-hidden /> Sign out everywhere
                </>
              ),
              onSelect: () => void send("DELETE", "/api/sessions").finally(() => window.location.assign("/login")),
            },
          ]}
        />
      ) : null}
    </header>
  );
}
