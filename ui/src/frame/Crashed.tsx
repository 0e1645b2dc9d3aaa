import { type ErrorComponentProps, useRouter } from "@tanstack/react-router";
import { useEffect } from "react";

import { ask } from "@/api/client";
import { ProblemError } from "@/api/problem";
import { ErrorCard } from "@/parts/ErrorCard";

const PACE = 3000;
/** Reloads the window, but only when the server answers: otherwise the browser would show its own error page. */
const anew = (): void => {
  void ask("/api/session").then(
    () => window.location.reload(),
    () => undefined,
  );
};

/** Shown when a page throws, or its chunk cannot be loaded. Other pages still work. */
export function Crashed({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  const away = error instanceof ProblemError && error.offline;
  const gone = /dynamically imported module|Importing a module script failed/i.test(String(error));
  useEffect(() => {
    if (!away) return;
    anew();
    const timer = window.setInterval(anew, PACE);
    return () => window.clearInterval(timer);
  }, [away]);
  return (
    <div className="p-6">
      <ErrorCard
        error={error}
        what={
          away ? "This page could not load while the server is offline" : gone ? "Foliot has been updated" : undefined
        }
        onRetry={() => {
          if (away || gone) anew();
          else {
            reset();
            void router.invalidate();
          }
        }}
      />
    </div>
  );
}
