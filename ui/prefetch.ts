import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Plugin, Rolldown } from "vite";

import { FIRST_ROWS, PREFETCHED_LISTS, USUAL_ORDERS } from "./src/api/firstRows.ts";

type Bundle = Rolldown.OutputBundle;

const here = (name: string): string => readFileSync(new URL(name, import.meta.url), "utf8");

/** The pages of `routes.tsx`: the pattern of their addresses, and their modules. */
function pages(): { pattern: string; module: string }[] {
  const lines = here("./src/routes.tsx").matchAll(/page\("(.+?)", \(\) => import\("\.(.+?)"\)\)/g);
  const routes = [...lines].map(([, path = "", module = ""]) => ({
    pattern: `^${path.replaceAll(/\$\w+/g, "[^/]+")}$`,
    module: `/src${module}.tsx`,
  }));
  if (routes.length < 10) throw new Error("prefetch.ts finds no page(path, () => import(…)) in routes.tsx");
  return routes;
}

/** The chunks of a page, imports included. */
function files(bundle: Bundle, module: string): string[] {
  const first = Object.values(bundle).find((file) => file.type === "chunk" && file.facadeModuleId?.endsWith(module));
  if (!first) throw new Error(`the build has no chunk of ${module}`);
  const names = new Set<string>();
  const visit = (name: string): void => {
    const chunk = bundle[name];
    if (names.has(name) || chunk?.type !== "chunk") return;
    names.add(name);
    chunk.imports.forEach(visit);
  };
  visit(first.fileName);
  return [...names];
}

function script(bundle: Bundle | undefined): string {
  const entry = bundle && Object.values(bundle).find((file) => file.type === "chunk" && file.isEntry);
  // The chunks of every page are in index.html already.
  const common = new Set(entry ? [entry.fileName, ...(entry.type === "chunk" ? entry.imports : [])] : []);
  const known = bundle
    ? pages().map(({ pattern, module }) => [
        pattern,
        files(bundle, module)
          .filter((name) => !common.has(name))
          .map((name) => `/${name}`),
      ])
    : [];
  return here("./prefetch.js")
    .replace("LISTS[", `${JSON.stringify(PREFETCHED_LISTS)}[`)
    .replace("ORDERS[", `${JSON.stringify(USUAL_ORDERS)}[`)
    .replace("FIRST)", `${FIRST_ROWS})`)
    .replace("PAGES.", `${JSON.stringify(known)}.`)
    .replaceAll(/^\s*\/\/.*\n/gm, "");
}

/**
 * Puts `prefetch.js` first in the page: in a build as a file with a content hash, for the page's policy allows no inline
 * script; in development inline.
 */
export function prefetch(): Plugin {
  let asset = { name: "", text: "" };
  return {
    name: "foliot-prefetch",
    transformIndexHtml: {
      order: "post",
      handler(_, { bundle }) {
        const text = script(bundle);
        if (!bundle) return [{ tag: "script", children: text, injectTo: "head-prepend" }];
        const digest = createHash("sha256").update(text).digest("hex").slice(0, 8);
        asset = { name: `assets/prefetch-${digest}.js`, text };
        return [{ tag: "script", attrs: { src: `/${asset.name}` }, injectTo: "head-prepend" }];
      },
    },
    generateBundle: {
      order: "post",
      handler() {
        if (asset.name) this.emitFile({ type: "asset", fileName: asset.name, source: asset.text });
      },
    },
  };
}
