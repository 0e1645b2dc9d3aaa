import type { ListPath } from "./client";

/** Pages whose first rows are requested before their scripts are loaded, and the path of that request. */
export const PREFETCHED_LISTS: Record<string, ListPath> = { "/runs": "/api/runs", "/schedules": "/api/schedules" };

/** The order of those pages unless the address names one. Of schedules: failing, missed, late, running, soonest. */
export const USUAL_ORDERS: Record<string, string> = { "/schedules": "urgency" };

/** The number of rows of the first page of a list. */
export const FIRST_ROWS = 50;
