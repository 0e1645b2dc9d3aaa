// After `npm install`: what a lock file says about sponsors and hosts is left out, so that it names no registry.
import { readFileSync, writeFileSync } from "node:fs";

const lock = JSON.parse(readFileSync("package-lock.json", "utf8"));
for (const one of Object.values(lock.packages)) {
  delete one.funding;
  delete one.resolved;
  delete one.deprecated;
}
writeFileSync("package-lock.json", `${JSON.stringify(lock, null, 2)}\n`);
