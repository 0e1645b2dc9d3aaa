import { useNavigate, useParams, useRouter, useSearch } from "@tanstack/react-router";
import { useCallback } from "react";

/** State in a query parameter (`?q=…`), so that every view has a link. */
export function useUrl(name: string, fallback = ""): [string, (value: string, push?: boolean) => void] {
  const search = useSearch({ strict: false }) as Record<string, string | undefined>;
  const navigate = useNavigate();
  const set = useCallback(
    (value: string, push = false) => {
      void navigate({
        to: ".",
        search: ((before: Record<string, string | undefined>) => ({
          ...before,
          [name]: value === fallback ? undefined : value,
        })) as never,
        hash: true,
        replace: !push,
      });
    },
    [navigate, name, fallback],
  );
  return [search[name] ?? fallback, set];
}

/** Sets several query parameters at once; empty ones are left out. */
export function useSetUrl(): (values: Record<string, string>) => void {
  const navigate = useNavigate();
  return useCallback(
    (values) => {
      const given = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, value || undefined]));
      void navigate({
        to: ".",
        search: ((before: Record<string, string | undefined>) => ({ ...before, ...given })) as never,
        hash: true,
      });
    },
    [navigate],
  );
}

/** Navigates to a path of the dashboard. */
export function useNavigateTo(): (to: string, replace?: boolean) => void {
  const router = useRouter();
  return useCallback(
    (to, replace = false) => (replace ? router.history.replace(to) : router.history.push(to)),
    [router],
  );
}

/** A part of the address: `useParam("id")` on `/runs/$id`; empty when the address has none. */
export const useParam = (name: string): string =>
  (useParams({ strict: false }) as Record<string, string | undefined>)[name] ?? "";
