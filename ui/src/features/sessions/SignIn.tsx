import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { send } from "@/api/client";
import { ProblemError } from "@/api/problem";
import { queryKeys } from "@/api/queryKeys";
import { Button } from "@/parts/Button";

/** A token or API key goes to the server once and comes back as a cookie that no script can read. */
export function SignIn({ onDone }: { onDone: () => void }) {
  const queries = useQueryClient();
  const [token, setToken] = useState("");
  const [busy, setBusy] = useState(false);
  const [refused, setRefused] = useState<string | null>(null);
  const submit = async (): Promise<void> => {
    setBusy(true);
    setRefused(null);
    try {
      await send("POST", "/api/session", { body: { token: token.trim() } });
      setToken("");
      // The session first: other requests need its CSRF token.
      await queries.refetchQueries({ queryKey: queryKeys.session });
      await queries.invalidateQueries();
      onDone();
    } catch (error) {
      setRefused(words(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <form
      className="flex flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <label className="flex flex-col gap-1 text-sm font-medium">
        API key or token
        <input
          type="password"
          value={token}
          onChange={(event) => setToken(event.target.value)}
          autoComplete="current-password"
          spellCheck={false}
          autoFocus
          placeholder="flt_…"
          aria-invalid={refused ? true : undefined}
          aria-describedby={refused ? "refused" : undefined}
          className="h-9 rounded border bg-bg px-3 font-mono font-normal"
        />
      </label>
      {refused ? (
        <p id="refused" role="alert" className="text-sm text-failed-ink">
          {refused}
        </p>
      ) : null}
      <Button type="submit" kind="primary" busy={busy} disabled={!token.trim()}>
        Sign in
      </Button>
    </form>
  );
}

function words(error: unknown): string {
  if (!(error instanceof ProblemError)) return String(error);
  return error.status === 401 ? "This key or token is not valid here, or has expired." : error.message;
}
