import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from "@tanstack/react-router";

import { loading } from "./api/loading";
import { Frame } from "./frame/Frame";
import { Crashed } from "./pages/Crashed";
import { NotFound } from "./pages/NotFound";

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
  const component = lazyRouteComponent(loading(load));
  return createRoute({ getParentRoute: () => root, path, component, errorComponent: Crashed });
};

/** One line per page; each is loaded when it is first opened. */
const tree = root.addChildren([
  page("/", () => import("./pages/Overview")),
  page("/login", () => import("./pages/Login")),
  page("/welcome", () => import("./pages/Welcome")),
  page("/schedules", () => import("./pages/Schedules")),
  page("/schedules/new", () => import("./pages/ScheduleEditor")),
  page("/schedules/$id", () => import("./pages/Schedule")),
  page("/schedules/$id/edit", () => import("./pages/ScheduleEditor")),
  page("/calendar", () => import("./pages/Calendar")),
  page("/runs", () => import("./pages/Runs")),
  page("/runs/$id", () => import("./pages/Run")),
  page("/crawls", () => import("./pages/Crawls")),
  page("/crawls/$id", () => import("./pages/Crawl")),
  page("/pipelines", () => import("./pages/Pipelines")),
  page("/pipelines/$name", () => import("./pages/Pipeline")),
  page("/dead-letters", () => import("./pages/DeadLetters")),
  page("/bulk/$id", () => import("./pages/Bulk")),
  page("/endpoints", () => import("./pages/Endpoints")),
  page("/queues", () => import("./pages/Queues")),
  page("/activity", () => import("./pages/Activity")),
  page("/settings", () => import("./pages/Settings")),
  page("/settings/$part", () => import("./pages/Settings")),
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
