// Compresses the text files of a build once, so that no server has to: node scripts/compress.mjs DIRECTORY
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const TEXT = /\.(?:js|css|html|svg|json|webmanifest)$/;
const SMALL = 1024; // below this, a header costs what compression saves

for (const entry of readdirSync(process.argv[2], { recursive: true, withFileTypes: true })) {
  const path = join(entry.parentPath, entry.name);
  if (!entry.isFile() || !TEXT.test(entry.name)) continue;
  const content = readFileSync(path);
  if (content.length < SMALL) continue;
  const mode = constants.BROTLI_MODE_TEXT;
  const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_MODE]: mode };
  writeFileSync(`${path}.br`, brotliCompressSync(content, { params }));
  writeFileSync(`${path}.gz`, gzipSync(content, { level: 9 }));
}
