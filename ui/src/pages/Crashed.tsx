import { type ErrorComponentProps, useRouter } from "@tanstack/react-router";

import { ErrorCard } from "@/parts/ErrorCard";

/** A page broke, or its file is gone since a new version was installed. The others still work. */
export function Crashed({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  const gone = /dynamically imported module|Importing a module script failed/i.test(String(error));
  return (
    <div className="p-6">
      <ErrorCard
        error={error}
        what={gone ? "This page belongs to another version of Foliot, or the server is away" : undefined}
        onRetry={() => {
          if (gone) window.location.reload();
          else {
            reset();
            void router.invalidate();
          }
        }}
      />
    </div>
  );
}
