import { useState } from "react";

import type { HostStatus } from "@/api/schema";
import { useSession } from "@/api/session";
import { Button } from "@/parts/Button";
import { INPUT } from "@/parts/form/Field";
import { useCommand } from "@/parts/useCommand";

/** One header a line, as `Name: value`. */
export const headersOf = (text: string): Record<string, string> =>
  Object.fromEntries(
    text
      .split("\n")
      .filter((line) => line.trim() !== "")
      .map((line) => [line.split(":")[0]!.trim(), line.slice(line.indexOf(":") + 1).trim()]),
  );

const numberOf = (text: string): number | null => (text.trim() === "" ? null : Number(text));

/** The limits of a host: for all by the operator, a slower rate of its own by another tenant. */
export function HostForm({ host, onClose }: { host: HostStatus; onClose: () => void }) {
  const session = useSession();
  const operator = session?.mode === "local" || session?.tenant_id === "default" || session?.role === "system";
  const [rate, setRate] = useState(String((operator ? host.rate : host.own_rate) ?? ""));
  const [concurrency, setConcurrency] = useState(String(host.concurrency));
  const [robots, setRobots] = useState(host.robots);
  const [render, setRender] = useState(host.render ?? "");
  const [headers, setHeaders] = useState(() =>
    Object.entries(host.headers)
      .map(([name, value]) => `${name}: ${value}`)
      .join("\n"),
  );
  const [proxy, setProxy] = useState(host.proxy ?? "");
  const [act, busy] = useCommand();
  const own = { rate: numberOf(rate) };
  const body = operator
    ? {
        ...own,
        concurrency: numberOf(concurrency),
        robots: robots as "respect" | "ignore",
        render: (render || null) as "never" | "auto" | "always" | null,
        headers: headersOf(headers),
        proxy: proxy.trim() || null,
      }
    : own;
  return (
    <form
      className="flex flex-col gap-4 text-sm"
      onSubmit={(event) => {
        event.preventDefault();
        void act("PUT", "/api/hosts/{host}", { params: { host: host.host }, body }, `Saved ${host.host}`).then(
          (done) => done && onClose(),
        );
      }}
    >
      <p className="text-muted">
        {operator
          ? "These limits apply to all tenants and all kinds of work."
          : "You can set a slower rate, for your tenant only."}
      </p>
      <label className="flex flex-col gap-1">
        Requests per second (0: no limit; empty: default)
        <input inputMode="decimal" value={rate} onChange={(event) => setRate(event.target.value)} className={INPUT} />
      </label>
      {operator ? (
        <>
          <label className="flex flex-col gap-1">
            Concurrent requests
            <input
              inputMode="numeric"
              value={concurrency}
              onChange={(event) => setConcurrency(event.target.value)}
              className={INPUT}
            />
          </label>
          <label className="flex flex-col gap-1">
            robots.txt
            <select value={robots} onChange={(event) => setRobots(event.target.value)} className={INPUT}>
              <option value="respect">respect</option>
              <option value="ignore">ignore</option>
            </select>
          </label>
          <label className="flex flex-col gap-1">
            Browser
            <select value={render} onChange={(event) => setRender(event.target.value)} className={INPUT}>
              <option value="">default</option>
              <option value="never">never</option>
              <option value="auto">auto</option>
              <option value="always">always</option>
            </select>
          </label>
          <label className="flex flex-col gap-1">
            Headers for requests of the operator's tenant, one a line
            <textarea
              rows={2}
              value={headers}
              placeholder="Authorization: Bearer {{ secret.SHOP_TOKEN }}"
              onChange={(event) => setHeaders(event.target.value)}
              className={`${INPUT} font-mono`}
            />
          </label>
          <label className="flex flex-col gap-1">
            Proxy for the same requests
            <input
              value={proxy}
              placeholder="{{ secret.PROXY }}"
              onChange={(event) => setProxy(event.target.value)}
              className={`${INPUT} font-mono`}
            />
          </label>
        </>
      ) : null}
      <span className="flex justify-end gap-2">
        <Button
          acts
          needs="write:host"
          busy={busy}
          onClick={() =>
            void act("DELETE", "/api/hosts/{host}", { params: { host: host.host } }, "Reset to defaults").then(
              (done) => done && onClose(),
            )
          }
        >
          Reset to defaults
        </Button>
        <Button acts needs="write:host" kind="primary" type="submit" busy={busy}>
          Save
        </Button>
      </span>
    </form>
  );
}
