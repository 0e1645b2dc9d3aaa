import { createRootRoute, createRoute, createRouter, lazyRouteComponent, redirect } from "@tanstack/react-router";

import { lazyImport } from "./api/lazyImport";
import { Crashed } from "./frame/Crashed";
import { Frame } from "./frame/Frame";
import { NotFound } from "./frame/NotFound";

/** Every value of the URL is plain text: no JSON, so that people can read and write it. */
export function parseSearch(text: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(text));
}

export function stringifySearch(search: Record<string, unknown>): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(search)) {
    if (value !== undefined && value !== null && value !== "") given.set(name, String(value));
  }
  // `state:failed,dead_letter` stays as it was typed.
  const text = given.toString().replaceAll("%3A", ":").replaceAll("%2C", ",");
  return text ? `?${text}` : "";
}

const root = createRootRoute({ component: Frame, notFoundComponent: NotFound, errorComponent: Crashed });

type Loader = () => Promise<{ default: React.ComponentType }>;
/** The code of every page, in the order of the navigation. */
export const LOADERS: Loader[] = [];
const page = (path: string, load: Loader) => {
  LOADERS.push(load);
  const component = lazyRouteComponent(lazyImport(load));
  return createRoute({ getParentRoute: () => root, path, component, errorComponent: Crashed });
};

/** One line per page; each is loaded when it is first opened. */
const tree = root.addChildren([
  page("/", () => import("./features/insights/OverviewPage")),
  page("/login", () => import("./features/sessions/LoginPage")),
  page("/welcome", () => import("./features/welcome/WelcomePage")),
  page("/schedules", () => import("./features/schedules/SchedulesPage")),
  page("/schedules/new", () => import("./features/schedules/ScheduleEditorPage")),
  page("/schedules/$id", () => import("./features/schedules/SchedulePage")),
  page("/schedules/$id/edit", () => import("./features/schedules/ScheduleEditorPage")),
  page("/calendar", () => import("./features/insights/CalendarPage")),
  page("/runs", () => import("./features/runs/RunsPage")),
  page("/runs/$id", () => import("./features/runs/RunPage")),
  page("/crawls", () => import("./features/jobs/JobsPage")),
  page("/crawls/$id", () => import("./features/jobs/JobPage")),
  page("/pipelines", () => import("./features/pipelines/PipelinesPage")),
  page("/pipelines/$name", () => import("./features/pipelines/PipelinePage")),
  page("/dead-letters", () => import("./features/dead_letters/DeadLettersPage")),
  page("/bulk/$id", () => import("./features/bulk/BulkPage")),
  page("/alerts", () => import("./features/alerts/AlertsPage")),
  page("/alerts/$id", () => import("./features/alerts/AlertPage")),
  page("/monitors", () => import("./features/monitors/MonitorsPage")),
  page("/monitors/$id", () => import("./features/monitors/MonitorPage")),
  page("/watches", () => import("./features/watches/WatchesPage")),
  page("/watches/new", () => import("./features/watches/WatchEditorPage")),
  page("/watches/$id", () => import("./features/watches/WatchPage")),
  page("/watches/$id/edit", () => import("./features/watches/WatchEditorPage")),
  page("/watches/$id/pages/$page", () => import("./features/watches/PageHistoryPage")),
  page("/hosts", () => import("./features/fetching/HostsPage")),
  page("/endpoints", () => import("./features/endpoints/EndpointsPage")),
  page("/queues", () => import("./features/queues/QueuesPage")),
  page("/audit-log", () => import("./features/audit_log/AuditLogPage")),
  // Its address before it was renamed.
  createRoute({
    getParentRoute: () => root,
    path: "/activity",
    beforeLoad: ({ search }) => {
      throw redirect({ to: "/audit-log", search, replace: true });
    },
  }),
  page("/settings", () => import("./features/settings/SettingsPage")),
  page("/settings/$part", () => import("./features/settings/SettingsPage")),
]);

export const router = createRouter({
  routeTree: tree,
  parseSearch,
  stringifySearch,
  defaultPreload: "intent",
  // Not the router's: it would put lists and logs that scroll by themselves back to where they were.
  scrollRestoration: false,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
