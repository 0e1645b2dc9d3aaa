import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Plugin, Rolldown } from "vite";

import { FIRST, LISTS } from "./src/lists.ts";

type Bundle = Rolldown.OutputBundle;

const here = (name: string): string => readFileSync(new URL(name, import.meta.url), "utf8");

/** The pages of `routes.tsx`: what their addresses look like, and where their code stands. */
function pages(): { pattern: string; module: string }[] {
  const lines = here("./src/routes.tsx").matchAll(/page\("(.+?)", \(\) => import\("\.(.+?)"\)\)/g);
  const found = [...lines].map(([, path = "", module = ""]) => ({
    pattern: `^${path.replaceAll(/\$\w+/g, "[^/]+")}$`,
    module: `/src${module}.tsx`,
  }));
  if (found.length < 10) throw new Error("early.ts finds no pages in routes.tsx: are they still written as they were?");
  return found;
}

/** The files of a page, with what they import. */
function files(bundle: Bundle, module: string): string[] {
  const first = Object.values(bundle).find((one) => one.type === "chunk" && one.facadeModuleId?.endsWith(module));
  if (!first) throw new Error(`the build has no chunk of ${module}`);
  const found = new Set<string>();
  const visit = (name: string): void => {
    const chunk = bundle[name];
    if (found.has(name) || chunk?.type !== "chunk") return;
    found.add(name);
    chunk.imports.forEach(visit);
  };
  visit(first.fileName);
  return [...found];
}

function script(bundle: Bundle | undefined): string {
  const entry = bundle && Object.values(bundle).find((one) => one.type === "chunk" && one.isEntry);
  // What every page needs stands in index.html already.
  const common = new Set(entry ? [entry.fileName, ...(entry.type === "chunk" ? entry.imports : [])] : []);
  const known = bundle
    ? pages().map(({ pattern, module }) => [
        pattern,
        files(bundle, module)
          .filter((name) => !common.has(name))
          .map((name) => `/${name}`),
      ])
    : [];
  return here("./early.js")
    .replace("LISTS[", `${JSON.stringify(LISTS)}[`)
    .replace("FIRST)", `${FIRST})`)
    .replace("PAGES.", `${JSON.stringify(known)}.`)
    .replaceAll(/^\s*\/\/.*\n/gm, "");
}

/** Puts `early.js` before everything else in the page: built, as a file whose name tells its content; else as it is. */
export function early(): Plugin {
  let made = { name: "", text: "" };
  return {
    name: "foliot-early",
    transformIndexHtml: {
      order: "post",
      handler(_, { bundle }) {
        const text = script(bundle);
        if (!bundle) return [{ tag: "script", children: text, injectTo: "head-prepend" }];
        const digest = createHash("sha256").update(text).digest("hex").slice(0, 8);
        made = { name: `assets/early-${digest}.js`, text };
        return [{ tag: "script", attrs: { src: `/${made.name}` }, injectTo: "head-prepend" }];
      },
    },
    generateBundle: {
      order: "post",
      handler() {
        if (made.name) this.emitFile({ type: "asset", fileName: made.name, source: made.text });
      },
    },
  };
}
