import {
  BellRing,
  CalendarDays,
  CalendarClock,
  Eye,
  Gauge,
  Globe,
  HeartPulse,
  Inbox,
  LayoutDashboard,
  type LucideIcon,
  Play,
  ScrollText,
  Server,
  Settings,
  Webhook,
  Workflow,
} from "lucide-react";

/** The shortcut as this platform's keyboard names it. */
export const MOD_K = navigator.userAgent.includes("Mac") ? "⌘K" : "Ctrl K";

/** The headings of the navigation, in order. */
export const GROUPS = ["Observe", "Build", "Operate"] as const;

export interface PageLink {
  label: string;
  to: string;
  key: string;
  icon: LucideIcon;
  group: (typeof GROUPS)[number];
  /** The count shown beside it. */
  count?: "schedules" | "running" | "dead" | "alerts";
}

/** The pages of the navigation, with the second key after `g`. */
export const PAGES: readonly PageLink[] = [
  { group: "Observe", label: "Overview", to: "/", key: "o", icon: LayoutDashboard },
  { group: "Observe", label: "Runs", to: "/runs", key: "r", icon: Play, count: "running" },
  { group: "Observe", label: "Calendar", to: "/calendar", key: "c", icon: CalendarDays },
  { group: "Observe", label: "Alerts", to: "/alerts", key: "l", icon: BellRing, count: "alerts" },
  { group: "Observe", label: "Monitors", to: "/monitors", key: "m", icon: HeartPulse },
  { group: "Build", label: "Schedules", to: "/schedules", key: "s", icon: CalendarClock, count: "schedules" },
  { group: "Build", label: "Crawls & articles", to: "/crawls", key: "a", icon: Globe },
  { group: "Build", label: "Pipelines", to: "/pipelines", key: "p", icon: Workflow },
  { group: "Build", label: "Watches", to: "/watches", key: "w", icon: Eye },
  { group: "Operate", label: "Dead letters", to: "/dead-letters", key: "d", icon: Inbox, count: "dead" },
  { group: "Operate", label: "Hosts", to: "/hosts", key: "h", icon: Server },
  { group: "Operate", label: "Endpoints", to: "/endpoints", key: "e", icon: Webhook },
  { group: "Operate", label: "Queues & workers", to: "/queues", key: "q", icon: Gauge },
  { group: "Operate", label: "Audit log", to: "/audit-log", key: "y", icon: ScrollText },
  { group: "Operate", label: "Settings", to: "/settings", key: ",", icon: Settings },
];

export const SHORTCUTS: readonly [string, readonly [string, string][]][] = [
  [
    "Anywhere",
    [
      [MOD_K, "search or run a command"],
      ["g …", "go to a page (by its letter)"],
      ["n", "new schedule"],
      ["t", "switch theme"],
      ["?", "show shortcuts"],
      ["esc", "clear, close"],
    ],
  ],
  [
    "Lists",
    [
      ["/", "filter"],
      ["j  k", "next, previous"],
      ["x", "select"],
      ["shift x", "select up to here"],
      ["enter", "open"],
      ["e", "edit"],
      ["p", "pause or resume"],
      ["r", "run now, replay"],
      ["c", "cancel"],
    ],
  ],
  [
    "One run, one schedule, the calendar",
    [
      ["j  k", "newer, older run"],
      ["e", "edit a schedule; edit and replay a run"],
      ["r", "run now, replay"],
      ["p", "pause or resume"],
      ["c", "cancel"],
      ["←  →", "earlier, later in the calendar"],
    ],
  ],
  [
    "Logs",
    [
      ["/", "search (also Ctrl F)"],
      [".", "next error"],
      ["f", "follow"],
      ["w", "wrap lines"],
    ],
  ],
];
