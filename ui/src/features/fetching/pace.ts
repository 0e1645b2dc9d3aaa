import type { HostStatus } from "@/api/schema";

/** The rate of a host, or the longer interval that robots.txt or its answers ask for. */
export function paceOf(host: Pick<HostStatus, "rate" | "interval" | "crawl_delay">): string {
  const rate = host.rate === null ? "no limit" : `${host.rate}/s`;
  const longer = host.interval > (host.rate === null ? 0 : 1 / host.rate) + 0.001;
  if (!longer) return rate;
  return `every ${Math.round(host.interval * 100) / 100} s${host.crawl_delay === host.interval ? " (robots.txt)" : ""}`;
}
