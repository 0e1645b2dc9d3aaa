/** Pages whose first rows can be asked for before their scripts have come, and where those rows are asked for. */
export const LISTS: Record<string, string> = { "/runs": "/api/runs", "/schedules": "/api/schedules" };

/** How many rows a list asks for first. */
export const FIRST = 50;
