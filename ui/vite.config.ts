import { fileURLToPath } from "node:url";

import tailwind from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

import { prefetch } from "./prefetch.ts";

/** Where the API listens while one works on the pages (`make ui`). */
const api = process.env.FOLIOT_UI_API ?? "http://127.0.0.1:8000";
const proxied = ["/api", "/jobs", "/crawl", "/docs", "/openapi.json", "/metrics", "/health", "/ws"];

export default defineConfig({
  plugins: [react(), tailwind(), prefetch()],
  resolve: { alias: { "@": fileURLToPath(new URL("./src", import.meta.url)) } },
  server: {
    host: "127.0.0.1",
    // The API answers only those who come from its own address, so the proxy says that it does.
    proxy: Object.fromEntries(
      proxied.map((path) => [
        `^${path}(/|\\?|$)`,
        { target: api, changeOrigin: true, ws: true, headers: { origin: api } },
      ]),
    ),
  },
  build: {
    outDir: process.env.FOLIOT_UI_OUT ?? "../src/foliot/web/dist",
    emptyOutDir: true,
    assetsDir: "assets",
    // The page's policy allows no data: scripts or fonts, so everything is a file.
    assetsInlineLimit: 0,
    manifest: true,
    target: "es2023",
    rolldownOptions: {
      output: {
        // Many small files take longer to come, and to be read, than a few that hold a little too much.
        codeSplitting: { groups: [{ name: "shared", minShareCount: 3 }] },
      },
    },
  },
  test: { include: ["src/**/*.test.ts"], environment: "node", isolate: false },
});
