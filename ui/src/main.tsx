import "./styles.css";

import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { preloadWhenIdle } from "./api/lazyImport";
import { ProblemError } from "./api/problem";
import { startPrefs } from "./prefs";
import { LOADERS, router } from "./routes";
import { prefetch } from "./frame/prefetch";

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5000,
      // Only transient failures are retried: a 404 stays a 404.
      retry: (failures, error) => failures < 2 && error instanceof ProblemError && error.retryable,
      retryDelay: (failures) => Math.min(500 * 2 ** failures, 5000),
      refetchOnWindowFocus: true,
      networkMode: "always",
    },
    mutations: { networkMode: "always" },
  },
});

startPrefs();
prefetch(queries, window.location);
createRoot(document.getElementById("root") as HTMLElement).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
);

// After the chunks of the first page itself.
window.addEventListener("load", () => window.setTimeout(() => preloadWhenIdle(LOADERS), 4000));
