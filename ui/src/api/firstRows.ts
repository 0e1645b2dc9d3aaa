import type { ListPath } from "./client";

/** Pages whose first rows are requested before their scripts are loaded, and the path of that request. */
export const PREFETCHED_LISTS: Record<string, ListPath> = { "/runs": "/api/runs", "/schedules": "/api/schedules" };

/** The number of rows of the first page of a list. */
export const FIRST_ROWS = 50;
