import type { Job } from "@/api/calls";

export interface CrawlItems {
  job_id: string;
  status: string;
  total: number;
  not_kept: number;
  items: unknown[];
}

/** The parts of a job's band, in their order. */
export function parts(job: Job): { name: string; count: number; tone: string }[] {
  const cached = job.cached ?? 0;
  return [
    { name: "done", count: Math.max((job.completed ?? 0) - cached, 0), tone: "success" },
    { name: "cached", count: cached, tone: "running" },
    { name: "failed", count: job.failed ?? 0, tone: "failed" },
    { name: "pending", count: job.pending ?? 0, tone: "line" },
  ];
}

export interface Domain {
  host: string;
  read: number;
  failed: number;
}

/** How each host did, those with most pages first. */
export function byDomain(read: readonly { url: string }[], failed: readonly { url: string }[]): Domain[] {
  const found = new Map<string, Domain>();
  const of = (url: string): Domain => {
    const host = URL.canParse(url) ? new URL(url).host : url;
    const one = found.get(host) ?? { host, read: 0, failed: 0 };
    found.set(host, one);
    return one;
  };
  for (const one of read) of(one.url).read += 1;
  for (const one of failed) of(one.url).failed += 1;
  return [...found.values()].sort(
    (one, other) => other.read + other.failed - one.read - one.failed || one.host.localeCompare(other.host),
  );
}

/** The URLs that somebody pasted: one a line, or with commas between, each once. */
export function pasted(text: string): string[] {
  return [...new Set(text.split(/[\s,]+/).filter(Boolean))];
}
