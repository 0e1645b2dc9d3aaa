export interface HostCount {
  host: string;
  read: number;
  failed: number;
}

/** Articles read and failed per host, those with most articles first. */
export function countByHost(read: readonly { url: string }[], failed: readonly { url: string }[]): HostCount[] {
  const found = new Map<string, HostCount>();
  const of = (url: string): HostCount => {
    const host = URL.canParse(url) ? new URL(url).host : url;
    const entry = found.get(host) ?? { host, read: 0, failed: 0 };
    found.set(host, entry);
    return entry;
  };
  for (const entry of read) of(entry.url).read += 1;
  for (const entry of failed) of(entry.url).failed += 1;
  return [...found.values()].sort(
    (entry, other) => other.read + other.failed - entry.read - entry.failed || entry.host.localeCompare(other.host),
  );
}
