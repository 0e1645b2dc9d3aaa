import { expect, test } from "vitest";

import type { RunLog, LogLine } from "@/api/schema";

import { appended, appendedLive, EMPTY, prepended, windowOf } from "./lineWindow";
import { isNarrowed, type LogFilter, logFilterOf, matchesFilter, queryOf, toggleCategory } from "./logFilter";
import { rowsOf } from "./rows";
import { pieces, SHOWN } from "./text";

const line = (
  seq: number,
  message = `line ${seq}`,
  level = "info",
  attempt = 1,
  category: string | null = null,
): LogLine => ({ seq, at: "2026-11-16T00:00:00Z", level, message, attempt, category });
const span = (from: number, to: number): LogLine[] =>
  Array.from({ length: to - from + 1 }, (_, index) => line(from + index));
const page = (items: LogLine[], more: Partial<RunLog> = {}): RunLog => ({
  items,
  total: 1000,
  matches: null,
  first_seq: 1,
  last_seq: 1000,
  before: items[0]?.seq ?? null,
  after: null,
  pruned: false,
  ...more,
});
const seqs = (lines: readonly LogLine[]): number[] => lines.map((line) => line.seq);

test("a tail grows at its end, without gap or repeat", () => {
  const window = appendedLive(appendedLive(windowOf(page(span(8, 10))), [line(10), line(11)]), [line(12)]);
  expect(seqs(window.lines)).toEqual([8, 9, 10, 11, 12]);
  expect(window.detached).toBe(false);
});

test("what is too much falls off the far end, and can be asked again", () => {
  const window = appendedLive(windowOf(page(span(1, 5), { before: null })), span(6, 8), 4);
  expect(seqs(window.lines)).toEqual([5, 6, 7, 8]);
  expect(window.before).toBe(5);
  const up = prepended(windowOf(page(span(5, 8))), page(span(1, 4), { before: null }), 6);
  expect(seqs(up.lines)).toEqual([1, 2, 3, 4, 5, 6]);
  expect(up.detached).toBe(true);
});

test("a stretch from the middle only counts what is written, until its end is reached", () => {
  const middle = windowOf(page(span(10, 12), { after: 12 }));
  expect(middle.detached).toBe(true);
  const heard = appendedLive(middle, span(900, 901));
  expect([seqs(heard.lines), heard.total]).toEqual([[10, 11, 12], 1002]);
  const end = appended(middle, page(span(13, 14)));
  expect([seqs(end.lines), end.detached]).toEqual([[10, 11, 12, 13, 14], false]);
});

test("nothing known is nothing shown", () => expect(rowsOf(EMPTY.lines, new Map(), new Map())).toEqual([]));

test("long entries are folded, errors stay open, and a choice holds", () => {
  const long = line(1, "a\nb\nc\nd\ne\n");
  const trace = line(2, "Traceback\n  File\n    x\n  File\n    y\nError", "error");
  const rows = (chosen: [number, boolean][]) => rowsOf([long, trace], new Map(chosen), new Map()).map((row) => row.key);
  expect(rows([])).toEqual(["l1", "l2", "l2.0", "l2.1", "l2.2", "l2.3", "l2.4"]);
  expect(
    rows([
      [1, true],
      [2, false],
    ]),
  ).toEqual(["l1", "l1.0", "l1.1", "l1.2", "l1.3", "l2"]);
});

test("attempts and gaps have their marks", () => {
  const rows = rowsOf([line(1), line(2, "x", "info", 2)], new Map(), new Map([[1, "3 s without connection"]]));
  expect(rows.map((row) => row.kind)).toEqual(["line", "gap", "attempt", "line"]);
});

test("what arrives is judged as the server judges what it kept", () => {
  const filter = (more: Partial<LogFilter>): LogFilter => ({
    level: "debug",
    grep: "",
    attempt: null,
    categories: [],
    ...more,
  });
  expect(matchesFilter(line(1, "Timeout"), filter({ level: "info", grep: "TIME" }))).toBe(true);
  expect(matchesFilter(line(1, "x", "debug"), filter({ level: "info" }))).toBe(false);
  expect(matchesFilter(line(1, "x", "critical"), filter({ level: "error" }))).toBe(true);
  expect(matchesFilter(line(1, "x", "info", 2), filter({ attempt: 2 }))).toBe(true);
  expect(matchesFilter(line(1, "x", "info", 1), filter({ attempt: 2 }))).toBe(false);
  expect(matchesFilter(line(1, "x", "info", 1, "retry"), filter({ categories: ["redirect", "retry"] }))).toBe(true);
  expect(matchesFilter(line(1, "x"), filter({ categories: ["retry"] }))).toBe(false);
});

test("a filter is sent as it stands in the address, and an empty one asks for everything", () => {
  expect(queryOf(logFilterOf("warning", "x", "2", "retry,redirect"))).toEqual({
    level: "warning",
    grep: "x",
    attempt: 2,
    category: "retry,redirect",
  });
  expect([isNarrowed(logFilterOf("debug", "", "", "")), isNarrowed(logFilterOf("debug", "", "nonsense", ""))]).toEqual([
    false,
    false,
  ]);
  expect(isNarrowed(logFilterOf("debug", "", "1", ""))).toBe(true);
  expect([toggleCategory(["retry"], "redirect"), toggleCategory(["retry", "redirect"], "retry")]).toEqual([
    "retry,redirect",
    "redirect",
  ]);
});

test("HTML stays text, colours become classes, other commands to a terminal are dropped", () => {
  expect(pieces("<b>x</b><script>1</script>")).toEqual([{ text: "<b>x</b><script>1</script>", style: "" }]);
  const red = pieces("\u001b[31mred\u001b[0m plain\u001b]8;;http://evil\u0007link\u001b[2K");
  expect(red.map((one) => [one.text, one.style])).toEqual([
    ["red", "ansi-red"],
    [" plainlink", ""],
  ]);
  expect(pieces("a\u0000b\u202ec")[0]?.text).toBe("a\u2400b\u241bc");
});

test("addresses are links, and only web ones", () => {
  expect(pieces("see https://a.example/x?y=1. javascript:alert(1)").map((one) => one.href)).toEqual([
    undefined,
    "https://a.example/x?y=1",
    undefined,
  ]);
});

test("what is searched for is marked wherever it stands, whatever its case", () => {
  expect(pieces("Error in error", "ERROR").map((one) => [one.text, one.hit ?? false])).toEqual([
    ["Error", true],
    [" in ", false],
    ["error", true],
  ]);
});

test("a line of 16 KiB is cut for the list", () => {
  expect(pieces("x".repeat(16_384)).reduce((sum, one) => sum + one.text.length, 0)).toBe(SHOWN);
});
