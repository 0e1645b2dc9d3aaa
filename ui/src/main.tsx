import "./styles.css";

import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { whenIdle } from "./api/loading";
import { ProblemError } from "./api/problem";
import { startPrefs } from "./prefs";
import { LOADERS, router } from "./routes";
import { headStart } from "./start";

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5000,
      // Only what passes by itself is asked again: a 404 stays a 404.
      retry: (failures, error) => failures < 2 && error instanceof ProblemError && error.passing,
      retryDelay: (failures) => Math.min(500 * 2 ** failures, 5000),
      refetchOnWindowFocus: true,
      networkMode: "always",
    },
    mutations: { networkMode: "always" },
  },
});

startPrefs();
headStart(queries, window.location);
createRoot(document.getElementById("root") as HTMLElement).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
);

// After what the first page needs itself.
window.addEventListener("load", () => window.setTimeout(() => whenIdle(LOADERS), 4000));
