import { duration, millis } from "@/time/format";
import { useNow } from "@/time/useNow";

/** A duration; with `since` it is counted live. */
export function Duration({ ms, since }: { ms?: number | null; since?: string | null }) {
  return since ? <Counting since={since} /> : <Fixed ms={ms} />;
}

function Counting({ since }: { since: string }) {
  const now = useNow();
  return <Fixed ms={Math.max(Math.floor((now - millis(since)) / 1000) * 1000, 0)} />;
}

function Fixed({ ms }: { ms?: number | null }) {
  const known = ms !== null && ms !== undefined;
  return (
    <span
      className="whitespace-nowrap tabular-nums"
      title={known ? `${Math.round(ms).toLocaleString("en-US")} ms` : undefined}
    >
      {duration(ms)}
    </span>
  );
}
