import {
  Activity,
  CalendarDays,
  CalendarClock,
  Gauge,
  Globe,
  Inbox,
  LayoutDashboard,
  type LucideIcon,
  Play,
  Settings,
  Webhook,
  Workflow,
} from "lucide-react";

/** The shortcut as this platform's keyboard names it. */
export const MOD_K = navigator.userAgent.includes("Mac") ? "⌘K" : "Ctrl K";

export interface PageLink {
  label: string;
  to: string;
  key: string;
  icon: LucideIcon;
  /** The count shown beside it. */
  count?: "schedules" | "running" | "dead";
}

/** The pages of the navigation, with the second key after `g`. */
export const PAGES: readonly PageLink[] = [
  { label: "Overview", to: "/", key: "o", icon: LayoutDashboard },
  { label: "Schedules", to: "/schedules", key: "s", icon: CalendarClock },
  { label: "Calendar", to: "/calendar", key: "c", icon: CalendarDays },
  { label: "Runs", to: "/runs", key: "r", icon: Play, count: "running" },
  { label: "Crawls & articles", to: "/crawls", key: "a", icon: Globe },
  { label: "Pipelines", to: "/pipelines", key: "p", icon: Workflow },
  { label: "Dead letters", to: "/dead-letters", key: "d", icon: Inbox, count: "dead" },
  { label: "Endpoints", to: "/endpoints", key: "e", icon: Webhook },
  { label: "Queues & workers", to: "/queues", key: "q", icon: Gauge },
  { label: "Activity", to: "/activity", key: "y", icon: Activity },
  { label: "Settings", to: "/settings", key: ",", icon: Settings },
];

export const SHORTCUTS: readonly [string, readonly [string, string][]][] = [
  [
    "Anywhere",
    [
      [MOD_K, "search or run a command"],
      ["g …", "go to a page (its letter is shown beside it)"],
      ["n", "new schedule"],
      ["t", "theme"],
      ["?", "this sheet"],
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
      ["/", "search (Ctrl F, too)"],
      [".", "next error"],
      ["f", "follow"],
      ["w", "wrap lines"],
    ],
  ],
];
