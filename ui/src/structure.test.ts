/** The layout of `ui/src`, checked: who may import whom, and how long a file may be. */
import { readdirSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { fileURLToPath } from "node:url";

import { describe, expect, it } from "vitest";

const SRC = fileURLToPath(new URL(".", import.meta.url));
const GENERATED = "api/schema.ts";
const MOST_LINES = 400;

/** What each folder may import besides itself; `features` is checked further below. */
const ALLOWED: Record<string, readonly string[]> = {
  time: [],
  prefs: ["time"],
  api: [],
  live: ["api"],
  parts: ["api", "live", "time", "prefs"],
  features: ["parts", "api", "live", "time", "prefs"],
  frame: ["features", "parts", "api", "live", "time", "prefs"],
  routes: ["features", "frame", "api"],
  main: ["routes", "frame", "api", "prefs"],
};

interface Import {
  from: string;
  to: string;
}

const files = readdirSync(SRC, { recursive: true, encoding: "utf8" })
  .map((path) => path.replaceAll("\\", "/"))
  .filter((path) => /\.tsx?$/.test(path) && path !== "structure.test.ts");
const sources = new Map(files.map((path) => [path, readFileSync(posix.join(SRC, path), "utf8")]));

function importsOf(from: string, source: string): Import[] {
  return [...source.matchAll(/(?:\bfrom|\bimport\()\s*"((?:@\/|\.{1,2}\/)[^"]+)"/g)].map(([, to = ""]) => ({
    from,
    to: to.startsWith("@/") ? to.slice(2) : posix.join(posix.dirname(from), to),
  }));
}

const imports = [...sources].flatMap(([path, source]) => importsOf(path, source));

/** `parts` of `parts/Button.tsx`, `prefs` of `prefs.ts`. */
const folder = (path: string): string => (path.split("/")[0] ?? "").replace(/\.tsx?$/, "");
const feature = (path: string): string | null => (folder(path) === "features" ? (path.split("/")[1] ?? null) : null);

const forbidden = (all: readonly Import[]): string[] =>
  all
    .filter(({ from, to }) => folder(from) !== folder(to) && !ALLOWED[folder(from)]?.includes(folder(to)))
    .map(({ from, to }) => `${from} -> ${to}`);

/** The features of one import cycle, in its order; null when there is none. */
function cycleOf(all: readonly Import[]): string[] | null {
  const uses = new Map<string, Set<string>>();
  for (const { from, to } of all) {
    const [user, used] = [feature(from), feature(to)];
    if (user && used && user !== used) uses.set(user, (uses.get(user) ?? new Set()).add(used));
  }
  const done = new Set<string>();
  const visit = (name: string, path: readonly string[]): string[] | null => {
    if (path.includes(name)) return [...path.slice(path.indexOf(name)), name];
    if (done.has(name)) return null;
    for (const used of uses.get(name) ?? []) {
      const cycle = visit(used, [...path, name]);
      if (cycle) return cycle;
    }
    done.add(name);
    return null;
  };
  for (const name of uses.keys()) {
    const cycle = visit(name, []);
    if (cycle) return cycle;
  }
  return null;
}

describe("imports", () => {
  it("are found", () => {
    expect(imports.length).toBeGreaterThan(500);
    expect(importsOf("features/runs/RunPage.tsx", 'import { x } from "../bulk/y";\nimport("@/parts/Z")')).toEqual([
      { from: "features/runs/RunPage.tsx", to: "features/bulk/y" },
      { from: "features/runs/RunPage.tsx", to: "parts/Z" },
    ]);
  });
  it("go one way: shared folders know no feature, features do not know the frame", () => {
    expect(forbidden([{ from: "parts/Button.tsx", to: "features/runs/links" }])).toHaveLength(1);
    expect(forbidden(imports)).toEqual([]);
  });
  it("between features have no cycle", () => {
    const cyclic = ["runs bulk", "bulk filters", "filters runs"].map((pair) => {
      const [user, used] = pair.split(" ");
      return { from: `features/${user}/a.ts`, to: `features/${used}/b` };
    });
    expect(cycleOf(cyclic)).toEqual(["runs", "bulk", "filters", "runs"]);
    expect(cycleOf(imports)).toBeNull();
  });
  it("reach a page only from the routes", () => {
    const pages = imports.filter(({ to }) => feature(to) && /[a-z]Page$/.test(to));
    expect(pages.length).toBeGreaterThan(10);
    expect(pages.filter(({ from }) => from !== "routes.tsx")).toEqual([]);
  });
  it("take the API's types under their public names", () => {
    const renamed = [...sources].filter(([, source]) =>
      /(?:import|export)(?: type)? \{[^}]*\bas\b[^}]*\} from "[^"]*\/schema"|export (?:type )?(?:\*|\{[^}]*\}) from "[^"]*\/schema"/.test(
        source,
      ),
    );
    expect(renamed.map(([path]) => path)).toEqual([]);
  });
});

it("a file has at most 400 lines", () => {
  const long = [...sources].filter(
    ([path, source]) => path !== GENERATED && source.split("\n").length - 1 > MOST_LINES,
  );
  expect(long.map(([path]) => path)).toEqual([]);
});
