import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";

import { send } from "@/api/client";
import { ProblemError } from "@/api/problem";
import { sessionQuery } from "@/api/session";
import { ErrorCard } from "@/parts/ErrorCard";
import { Logo } from "@/parts/Logo";
import { useTitle } from "@/parts/useTitle";
import { useNavigateTo, useUrl } from "@/parts/useUrl";

import { SignIn } from "./SignIn";

/** Signs in with a key or with a one-time link. */
export default function LoginPage() {
  useTitle("Sign in");
  const [given] = useUrl("code");
  const [wanted] = useUrl("to", "/");
  // Read once: the code is removed from the address at once.
  const [{ code, to }] = useState({ code: given, to: wanted });
  const go = useNavigateTo();
  const session = useQuery(sessionQuery);
  const refused = useCode(code);
  // Only a path on this server, so that the link cannot redirect to another site.
  const next = /^\/(?![/\\])/.test(to) ? to : "/";
  const inside = session.data?.signed_in === true && (!code || refused !== null);
  useEffect(() => {
    if (inside) go(next, true);
  }, [inside, next, go]);
  const waiting = Boolean(code) && refused === null;
  return (
    <main id="main" className="flex min-h-full items-center justify-center bg-surface p-4">
      <div className="flex w-full max-w-sm flex-col gap-4 rounded-lg border bg-bg p-6">
        <h1 className="flex items-center gap-2 text-xl font-semibold">
          <Logo size={24} /> Sign in to foliot
        </h1>
        {session.error ? (
          <ErrorCard error={session.error} what="Cannot reach Foliot" onRetry={() => void session.refetch()} />
        ) : null}
        {waiting ? (
          <p role="status" className="text-muted">
            Signing you in…
          </p>
        ) : (
          <>
            {refused ? (
              <p role="alert" className="rounded border border-failed/40 bg-failed-tint px-3 py-2 text-failed-ink">
                {refused}
              </p>
            ) : null}
            <SignIn onDone={() => go(next, true)} />
            <p className="text-sm text-muted">
              Get a sign-in link without a key: <code className="font-mono text-xs text-ink">foliot login-link</code>
            </p>
          </>
        )}
      </div>
    </main>
  );
}

/** Exchanges the code of a link for a session, once; the error, or null. */
function useCode(code: string): string | null {
  const queries = useQueryClient();
  const [refused, setRefused] = useState<string | null>(null);
  const used = useRef("");
  useEffect(() => {
    if (!code || used.current === code) return;
    used.current = code;
    // The code is removed from the address, so that it is neither kept in the history nor shared.
    window.history.replaceState(window.history.state, "", window.location.pathname);
    send("POST", "/api/session", { body: { code } })
      .then(() => queries.refetchQueries({ queryKey: sessionQuery.queryKey }))
      .then(() => queries.invalidateQueries())
      .then(() => setRefused(""))
      .catch((error: unknown) => setRefused(words(error)));
  }, [code, queries]);
  return refused;
}

function words(error: unknown): string {
  if (!(error instanceof ProblemError)) return String(error);
  return error.status === 401
    ? "This link has been used or has expired. Request a new one, or use a key."
    : error.message;
}
