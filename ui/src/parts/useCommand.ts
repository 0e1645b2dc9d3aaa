import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useState } from "react";
import { toast } from "sonner";

import { type Answer, type JsonPath, type Method, type Options, request } from "@/api/client";
import { messageOf } from "@/api/problem";

/** Sends a change; the answer is `true` where the server answers nothing, and null where it refuses. */
export type Command = <M extends Exclude<Method, "GET">, P extends JsonPath<M>>(
  method: M,
  path: P,
  options: Options<M, P>,
  done?: string,
) => Promise<(Answer<M, P> extends undefined ? true : Answer<M, P>) | null>;

/** Sends a change to a path that the server has named. */
export type NamedCommand = (
  method: string,
  path: string,
  options: { body?: unknown; params?: Readonly<Record<string, string>> },
  done?: string,
) => Promise<unknown>;

/** Sends a change to the server: busy while it lasts, a toast on refusal, queries invalidated on success. */
export function useCommand(): [act: Command, busy: boolean, actNamed: NamedCommand] {
  const queries = useQueryClient();
  const [busy, setBusy] = useState(false);
  const act = useCallback<NamedCommand>(
    async (method, path, options, done) => {
      setBusy(true);
      try {
        const answer = await request(method, path, options);
        if (done) toast.success(done);
        // What was deleted is not asked for again: its page stays for as long as the next one loads.
        const gone = method === "DELETE" ? Object.values(options.params ?? {}) : [];
        void queries.invalidateQueries({
          predicate: ({ queryKey }) => queryKey[0] !== "list" && !gone.some((id) => queryKey.includes(id)),
        });
        return answer ?? true;
      } catch (error) {
        toast.error(messageOf(error));
        return null;
      } finally {
        setBusy(false);
      }
    },
    [queries],
  );
  return [act as Command, busy, act];
}
