import { useQuery } from "@tanstack/react-query";
import { useLocation } from "@tanstack/react-router";
import { BellOff, BookOpen, Keyboard, PanelLeftClose, PanelLeftOpen } from "lucide-react";

import { ask } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import type { RunCount } from "@/api/schema";
import { useSession } from "@/api/session";
import { cx } from "@/parts/cx";
import { Link } from "@/parts/Link";
import { Logo } from "@/parts/Logo";
import { setPrefs, usePrefs, useZone } from "@/prefs";
import { brief } from "@/time/format";
import { clock, mark } from "@/time/moment";
import { useNow } from "@/time/useNow";

import { GROUPS, type PageLink, PAGES } from "./navigation";

/** The counts beside the names: running runs, and dead letters that are neither resolved nor muted; */
const OPEN = "state:running,dead_letter -resolved:true -muted:true";
/** muted ones are counted apart. */
const MUTED = "muted:true -resolved:true";

/** Colours and words of the counts. */
const BADGES: Record<string, [string, string]> = {
  dead: ["bg-dead-tint font-medium text-dead-ink", "dead letters"],
  alerts: ["bg-failed-tint font-medium text-failed-ink", "open alerts"],
  running: ["bg-running-tint text-running-ink", "running now"],
  schedules: ["text-muted", "schedules"],
};

/** The navigation: pages with their counts, version and clock. */
export function Nav({ onShortcuts, narrow, onGo }: { onShortcuts: () => void; narrow?: boolean; onGo?: () => void }) {
  const { navFolded } = usePrefs();
  const folded = navFolded && !narrow;
  const { pathname } = useLocation();
  const data = useCount(OPEN);
  const muted = useCount(MUTED)?.count ?? 0;
  const alerts = useQuery({
    queryKey: queryKeys.alertCounts,
    queryFn: ({ signal }) => ask("/api/alerts/counts", { signal }),
    retry: false,
    refetchInterval: 30_000,
  }).data?.open;
  const schedules = useQuery({
    queryKey: ["schedules", "count", ""],
    queryFn: ({ signal }) => ask("/api/schedules/count", { signal }),
    retry: false,
    refetchInterval: 60_000,
  }).data?.count;
  const counts = { running: data?.by_state.running, dead: data?.by_state.dead_letter, alerts, schedules };
  return (
    <nav
      aria-label="Pages"
      className={cx("flex h-full shrink-0 flex-col border-r bg-surface", folded ? "w-14" : "w-[220px]")}
    >
      <Link
        to="/"
        onClick={onGo}
        className={cx("flex h-12 items-center gap-2 font-semibold", folded ? "justify-center" : "px-4")}
        aria-label="foliot, overview"
      >
        <Logo />
        {folded ? null : <span className="text-base">foliot</span>}
      </Link>
      <div className="flex flex-1 flex-col gap-3 overflow-y-auto px-2 py-2">
        {GROUPS.map((group) => (
          <div key={group}>
            <p id={`nav-${group}`} className={folded ? "sr-only" : "px-2 pb-1 text-[11px] font-medium text-muted"}>
              {group}
            </p>
            <ul aria-labelledby={`nav-${group}`} className="flex flex-col gap-0.5">
              {PAGES.filter((place) => place.group === group).map((place) => (
                <li key={place.to}>
                  <Item
                    place={place}
                    folded={folded}
                    here={place.to === "/" ? pathname === "/" : pathname.startsWith(place.to)}
                    count={place.count && counts[place.count]}
                    muted={place.count === "dead" ? muted : 0}
                    onGo={onGo}
                  />
                </li>
              ))}
            </ul>
          </div>
        ))}
      </div>
      <div className={cx("flex flex-col gap-1 border-t px-2 py-2 text-xs text-muted", folded && "items-center")}>
        <a
          href="/docs"
          className="flex items-center gap-2 rounded px-2 py-1 hover:bg-bg hover:text-ink"
          title="API reference"
        >
          <BookOpen size={14} aria-hidden />
          {folded ? <span className="sr-only">API reference</span> : "API reference"}
        </a>
        <button
          type="button"
          onClick={onShortcuts}
          className="flex items-center gap-2 rounded px-2 py-1 hover:bg-bg hover:text-ink"
          title="Shortcuts (?)"
        >
          <Keyboard size={14} aria-hidden />
          {folded ? <span className="sr-only">Shortcuts</span> : "Shortcuts"}
        </button>
        {narrow ? null : (
          <button
            type="button"
            onClick={() => setPrefs({ navFolded: !navFolded })}
            className="flex items-center gap-2 rounded px-2 py-1 hover:bg-bg hover:text-ink"
          >
            {folded ? <PanelLeftOpen size={14} aria-hidden /> : <PanelLeftClose size={14} aria-hidden />}
            {folded ? <span className="sr-only">Expand</span> : "Collapse"}
          </button>
        )}
        {folded ? null : <Footer />}
      </div>
    </nav>
  );
}

function useCount(q: string): RunCount | undefined {
  return useQuery({
    queryKey: queryKeys.runsCount({ q }),
    queryFn: ({ signal }) => ask("/api/runs/count", { query: { q }, signal }),
    retry: false,
  }).data;
}

function Item({
  place,
  folded,
  here,
  count,
  muted,
  onGo,
}: {
  place: PageLink;
  folded: boolean;
  here: boolean;
  count?: number;
  muted: number;
  onGo?: () => void;
}) {
  const Icon = place.icon;
  return (
    <Link
      to={place.to}
      onClick={onGo}
      aria-current={here ? "page" : undefined}
      title={folded ? place.label : `g ${place.key}`}
      className={cx(
        "group flex h-8 items-center gap-2.5 rounded px-2",
        here ? "bg-accent-tint font-medium text-ink" : "text-muted hover:bg-bg hover:text-ink",
        folded && "justify-center",
      )}
    >
      <Icon size={16} strokeWidth={1.75} aria-hidden />
      {folded ? <span className="sr-only">{place.label}</span> : place.label}
      {count && !folded ? (
        <span
          className={cx("ml-auto rounded-full px-1.5 text-xs", BADGES[place.count ?? "running"]?.[0])}
          title={BADGES[place.count ?? "running"]?.[1]}
        >
          {brief(count)}
        </span>
      ) : null}
      {muted && !folded ? (
        <span
          className={cx("inline-flex items-center gap-0.5 text-xs text-muted", !count && "ml-auto")}
          title={`${muted} muted`}
        >
          <BellOff size={11} aria-hidden />
          <span className="sr-only">muted: </span>
          {brief(muted)}
        </span>
      ) : null}
    </Link>
  );
}

function Footer() {
  const session = useSession();
  const zone = useZone();
  const now = useNow();
  return (
    <p className="flex justify-between px-2 pt-1 font-mono text-[11px]">
      <span>v{session?.version ?? "…"}</span>
      <span>
        {clock(now, zone, "second")} {mark(now, zone)}
      </span>
    </p>
  );
}
