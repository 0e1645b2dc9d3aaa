import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { Live, type LiveMessage } from "./socket";

/** A fake WebSocket with the members that are used; the test plays the server. */
class Line {
  static readonly OPEN = 1;
  static all: Line[] = [];
  readyState = 0;
  sent: unknown[] = [];
  onopen: (() => void) | null = null;
  onclose: (() => void) | null = null;
  onmessage: ((message: { data: string }) => void) | null = null;

  constructor(readonly url: string) {
    Line.all.push(this);
  }

  send(text: string): void {
    this.sent.push(JSON.parse(text));
  }

  close(): void {
    this.readyState = 3;
    this.onclose?.();
  }

  open(): void {
    this.readyState = Line.OPEN;
    this.onopen?.();
  }

  tell(message: Partial<LiveMessage>): void {
    this.onmessage?.({ data: JSON.stringify(message) });
  }
}

const last = (): Line => Line.all.at(-1) as Line;

beforeEach(() => {
  Line.all = [];
  vi.useFakeTimers();
  vi.stubGlobal("window", globalThis);
  vi.stubGlobal("WebSocket", Line);
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("one line carries every topic, and each hears only its own", () => {
  const live = new Live(() => "ws://x");
  const received: string[] = [];
  live.follow("runs", () => received.push("runs"));
  last().open();
  live.follow("log:run_1", (message) => received.push(`log ${message.seq}`), 17);
  last().tell({ topic: "log:run_1", type: "lines", seq: 18 });
  last().tell({ type: "event" });

  expect(Line.all.length).toBe(1);
  expect(last().sent).toEqual([
    { op: "subscribe", topics: ["runs"], after: {} },
    { op: "subscribe", topics: ["log:run_1"], after: { "log:run_1": 17 } },
  ]);
  expect(received).toEqual(["log 18"]);
});

test("a lost connection resumes after the last number that it received, and reports the length of the gap", () => {
  const live = new Live(() => "ws://x");
  const away: number[] = [];
  live.onReconnect((ms) => away.push(ms));
  live.follow("log:run_1", () => undefined, 3);
  last().open();
  last().tell({ topic: "log:run_1", type: "lines", seq: 9 });
  last().close();
  expect(live.state.kind).toBe("reconnecting");
  vi.advanceTimersByTime(1000);
  last().open();

  expect(Line.all.length).toBe(2);
  expect(last().sent).toEqual([{ op: "subscribe", topics: ["log:run_1"], after: { "log:run_1": 9 } }]);
  expect(live.state.kind).toBe("live");
  expect(away).toEqual([1000]);
});

test("after some tries it is offline, and hurrying does not wait", () => {
  const live = new Live(() => "ws://x");
  live.follow("runs", () => undefined);
  for (let tries = 0; tries < 5; tries += 1) {
    last().close();
    vi.advanceTimersByTime(20_000);
  }
  last().close();
  expect(live.state.kind).toBe("offline");
  const before = Line.all.length;
  live.reconnectNow();
  expect(Line.all.length).toBe(before + 1);
});

test("a line without a beat is dead, whatever it says", () => {
  const live = new Live(() => "ws://x");
  live.follow("runs", () => undefined);
  last().open();
  vi.advanceTimersByTime(30_000);
  last().tell({ type: "event" });
  vi.advanceTimersByTime(30_000);
  expect(live.state.kind).toBe("live");
  vi.advanceTimersByTime(16_000);
  expect(live.state.kind).not.toBe("live");
});

test("who rests does not knock, and takes up everything again", () => {
  const live = new Live(() => "ws://x");
  live.follow("runs", () => undefined);
  last().open();
  live.pause();
  live.follow("queues", () => undefined);
  vi.advanceTimersByTime(60_000);
  expect(Line.all.length).toBe(1);
  live.resume();
  last().open();
  expect(last().sent).toEqual([{ op: "subscribe", topics: ["runs", "queues"], after: {} }]);
});

test("the last who leaves a topic gives it back", () => {
  const live = new Live(() => "ws://x");
  const one = live.follow("runs", () => undefined);
  const two = live.follow("runs", () => undefined);
  last().open();
  one();
  expect(last().sent.length).toBe(1);
  two();
  expect(last().sent.at(-1)).toEqual({ op: "unsubscribe", topics: ["runs"] });
});
