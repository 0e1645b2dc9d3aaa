import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Outlet, useRouterState } from "@tanstack/react-router";
import { Dialog } from "radix-ui";
import { lazy, Suspense, useEffect, useState } from "react";
import { Toaster, toast } from "sonner";

import { onSignedOut } from "@/api/client";
import { lazyImport, preloadWhenIdle } from "@/api/lazyImport";
import { queryKeys } from "@/api/queryKeys";
import { sessionQuery } from "@/api/session";
import { DemoBanner } from "@/features/demo/DemoBanner";
import { SessionEnded } from "@/features/sessions/SessionEnded";
import { live, useLiveRefresh } from "@/live/live";
import { ErrorCard } from "@/parts/ErrorCard";
import { useKeys } from "@/parts/useKeys";
import { useNavigateTo } from "@/parts/useUrl";
import { loadZones } from "@/parts/zone/ZonePicker";
import { setPrefs, themeNow, useTheme } from "@/prefs";

import { FrameSkeleton } from "./FrameSkeleton";
import { Nav } from "./Nav";
import { PAGES } from "./navigation";
import { TopBar } from "./TopBar";

const CODE = { palette: () => import("./CommandPalette"), shortcuts: () => import("./Shortcuts") };
const Palette = lazy(CODE.palette);
const Shortcuts = lazy(CODE.shortcuts);

/** The frame around every page: navigation, top bar, dialogs. */
export function Frame() {
  // The matched route, not the pending one: until the login page is loaded, the outlet still holds the previous page.
  const login = useRouterState({ select: (state) => state.matches.at(-1)?.pathname === "/login" });
  const session = useQuery(sessionQuery);
  const theme = useTheme();
  const go = useNavigateTo();
  const out = session.data?.mode === "secured" && !session.data.signed_in;
  useEffect(() => {
    // Only a new visitor is redirected to the login page; after an expired session the page stays, see SessionEnded.
    if (out && !login && !everSignedIn)
      go(`/login?to=${encodeURIComponent(window.location.pathname + window.location.search)}`, true);
  }, [out, login, go]);
  return (
    <>
      {login ? (
        <Outlet />
      ) : session.data ? (
        out && !everSignedIn ? null : (
          <SignedIn out={out} />
        )
      ) : session.error ? (
        <div className="mx-auto max-w-2xl p-6">
          <ErrorCard error={session.error} what="Cannot reach Foliot" onRetry={() => void session.refetch()} />
        </div>
      ) : (
        <FrameSkeleton />
      )}
      <Toaster
        theme={theme}
        position="bottom-right"
        closeButton
        toastOptions={{ style: { fontFamily: "var(--font-sans)", fontSize: 13 } }}
      />
    </>
  );
}

let everSignedIn = false;

function SignedIn({ out }: { out: boolean }) {
  const [open, setOpen] = useState<"palette" | "shortcuts" | "nav" | null>(null);
  const go = useNavigateTo();
  const queries = useQueryClient();
  const close = (): void => setOpen(null);
  // Opened only once it is loaded, so that a failed import does not replace the page.
  const show = (what: keyof typeof CODE): void =>
    void lazyImport(CODE[what])().then(
      () => setOpen(what),
      () => toast.error("The server is offline, and this page was not loaded before"),
    );
  useEffect(() => preloadWhenIdle([...Object.values(CODE), loadZones]), []);
  everSignedIn ||= !out;
  useLiveRefresh();
  useEffect(() => (out ? live.pause() : live.resume()), [out]);
  useEffect(() => onSignedOut(() => void queries.invalidateQueries({ queryKey: queryKeys.session })), [queries]);
  useKeys({
    "mod+k": () => (open === "palette" ? close() : show("palette")),
    "?": () => show("shortcuts"),
    t: () => setPrefs({ theme: themeNow() === "dark" ? "light" : "dark" }),
    n: () => go("/schedules/new"),
    ...Object.fromEntries(PAGES.map((place) => [`g ${place.key}`, () => go(place.to)])),
  });
  return (
    <div className="flex h-full">
      <a href="#main" className="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:bg-raised focus:p-2">
        Skip to content
      </a>
      <div className="hidden md:block">
        <Nav onShortcuts={() => show("shortcuts")} />
      </div>
      <div className="flex min-w-0 flex-1 flex-col">
        <TopBar onPalette={() => show("palette")} onShortcuts={() => show("shortcuts")} onNav={() => setOpen("nav")} />
        <DemoBanner />
        <main id="main" tabIndex={-1} className="min-h-0 flex-1 overflow-auto outline-none">
          <Suspense fallback={null}>
            <Outlet />
          </Suspense>
        </main>
      </div>
      <Dialog.Root open={open === "nav"} onOpenChange={(now) => (now ? undefined : close())}>
        <Dialog.Portal>
          <Dialog.Overlay className="fixed inset-0 z-40 bg-veil" />
          <Dialog.Content aria-describedby={undefined} className="fixed inset-y-0 left-0 z-50 shadow-overlay">
            <Dialog.Title className="sr-only">Pages</Dialog.Title>
            <Nav narrow onShortcuts={() => show("shortcuts")} onGo={close} />
          </Dialog.Content>
        </Dialog.Portal>
      </Dialog.Root>
      <Suspense fallback={null}>
        {open === "palette" ? <Palette open onClose={close} /> : null}
        {open === "shortcuts" ? <Shortcuts open onClose={close} /> : null}
      </Suspense>
      {out ? <SessionEnded /> : null}
    </div>
  );
}
