// The first page must stay light: everything that index.html pulls in at once, and the page that `/` shows, compressed.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const LIMIT = 250 * 1024;
const out = process.env.FOLIOT_UI_OUT ?? "../src/foliot/web/dist";
const manifest = JSON.parse(readFileSync(join(out, ".vite/manifest.json"), "utf8"));
const first = ["index.html", "src/features/insights/OverviewPage.tsx"];

const files = new Set();
const visit = (key) => {
  const chunk = manifest[key];
  if (!chunk) throw new Error(`the build has no ${key}: is the first page still called that?`);
  if (files.has(chunk.file)) return;
  files.add(chunk.file);
  for (const style of chunk.css ?? []) files.add(style);
  for (const imported of chunk.imports ?? []) visit(imported);
};
first.forEach(visit);

const weight = [...files].reduce((sum, file) => sum + gzipSync(readFileSync(join(out, file)), { level: 9 }).length, 0);
console.log(`first page: ${(weight / 1024).toFixed(1)} KB of ${LIMIT / 1024} KB gzip in ${files.size} files`);
if (weight > LIMIT) {
  console.error("The first page is too heavy. Load what it does not need at once lazily (src/routes.tsx).");
  process.exit(1);
}
