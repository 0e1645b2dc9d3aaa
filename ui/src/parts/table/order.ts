/** The server's order of a list, as in `?sort=-started_at`. Pure. */

const keyOf = (order: string): string => order.replace(/^-/, "");

/** In which direction the column with this first order is sorted now; false when another decides. */
export function directionOf(first: string, order: string): "asc" | "desc" | false {
  if (keyOf(first) !== keyOf(order)) return false;
  return order.startsWith("-") ? "desc" : "asc";
}

/** The order after a press on the column: its first one, then the opposite, then the usual one. */
export function nextOrder(first: string, order: string): string {
  if (order === first) return first.startsWith("-") ? keyOf(first) : `-${first}`;
  return keyOf(order) === keyOf(first) ? "" : first;
}
