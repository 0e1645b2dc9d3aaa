import type { ScheduleChain } from "@/api/schema";

export interface ChainPlace {
  column: number;
  row: number;
}

/** Places the schedules of a chain: the column is the length of the longest way from its beginning. */
export function layOut(chain: ScheduleChain): { places: Map<string, ChainPlace>; columns: number; rows: number } {
  const column = new Map(chain.schedules.map((schedule) => [schedule.id, 0]));
  // Each pass moves a child at least one column on; there is no ring, so it ends after the longest way.
  for (let pass = 0; pass < chain.schedules.length; pass += 1) {
    let moved = false;
    for (const { parent, child } of chain.links) {
      const least = (column.get(parent) ?? 0) + 1;
      if (column.has(child) && (column.get(child) ?? 0) < least) {
        column.set(child, least);
        moved = true;
      }
    }
    if (!moved) break;
  }
  const counts = new Map<number, number>();
  const places = new Map<string, ChainPlace>();
  for (const schedule of chain.schedules) {
    const at = column.get(schedule.id) ?? 0;
    const row = counts.get(at) ?? 0;
    places.set(schedule.id, { column: at, row });
    counts.set(at, row + 1);
  }
  return { places, columns: Math.max(0, ...counts.keys()) + 1, rows: Math.max(1, ...counts.values()) };
}
