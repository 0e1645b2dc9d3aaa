import { live, useLiveState } from "@/live/live";
import { cx } from "@/parts/cx";
import { useZone } from "@/prefs";
import { clock } from "@/time/moment";
import { useNow } from "@/time/useNow";

/** The state of the live connection; a press reconnects at once. */
export function LiveStatus() {
  const state = useLiveState();
  const now = useNow();
  const zone = useZone();
  const wait = "at" in state ? Math.max(Math.ceil((state.at - now) / 1000), 0) : 0;
  const [dot, word] = {
    live: ["bg-success", "Live"],
    connecting: ["bg-neutral", "Connecting…"],
    paused: ["bg-neutral", "Paused"],
    reconnecting: ["bg-attention", `Reconnecting… ${wait} s`],
    offline: [
      "bg-failed",
      "since" in state ? `Offline – data from ${clock(state.since, zone, "second")}, retrying in ${wait} s` : "Offline",
    ],
  }[state.kind] as [string, string];
  return (
    <button
      type="button"
      onClick={() => live.reconnectNow()}
      title={state.kind === "live" ? "Updates appear automatically" : "Click to retry now"}
      className={cx(
        "flex items-center gap-1.5 rounded px-2 py-1 text-xs whitespace-nowrap",
        state.kind === "offline" ? "bg-failed-tint font-medium text-failed-ink" : "text-muted",
      )}
    >
      <span aria-hidden className={cx("size-2 rounded-full", dot)} />
      <span
        role="status"
        className={cx(
          state.kind === "live" && "max-md:sr-only",
          state.kind === "offline" && "max-md:max-w-24 max-md:truncate",
        )}
      >
        {word}
      </span>
    </button>
  );
}
