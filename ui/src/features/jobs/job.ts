import type { JobReport } from "@/api/schema";

/** The parts of a job's progress bar, in their order. */
export function progressParts(job: JobReport): { name: string; count: number; tone: string }[] {
  const cached = job.cached ?? 0;
  return [
    { name: "done", count: Math.max((job.completed ?? 0) - cached, 0), tone: "success" },
    { name: "cached", count: cached, tone: "running" },
    { name: "failed", count: job.failed ?? 0, tone: "failed" },
    { name: "pending", count: job.pending ?? 0, tone: "line" },
  ];
}

/** The URLs of a pasted text, separated by blanks or commas, without duplicates. */
export function parseUrls(text: string): string[] {
  return [...new Set(text.split(/[\s,]+/).filter(Boolean))];
}

/** What a job is about, for titles and lists: its host, spider or source, and how much. */
export function jobTitle(job: JobReport): string {
  const about = job.about;
  const place = about?.host ?? about?.source ?? null;
  const count = about?.count ?? 0;
  const noun = job.kind === "articles" ? (count === 1 ? "article" : "articles") : count === 1 ? "URL" : "URLs";
  const parts = [about?.spider, place, count > 1 || !place ? `${count.toLocaleString("en")} ${noun}` : null];
  return about ? parts.filter(Boolean).join(" · ") : job.kind;
}
