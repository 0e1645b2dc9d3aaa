import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Outlet, useRouterState } from "@tanstack/react-router";
import { Dialog } from "radix-ui";
import { lazy, Suspense, useEffect, useState } from "react";
import { Toaster, toast } from "sonner";

import { onSignedOut } from "@/api/client";
import { keys } from "@/api/keys";
import { loading, whenIdle } from "@/api/loading";
import { sessionQuery } from "@/api/session";
import { live, useFreshness } from "@/live/live";
import { ErrorCard } from "@/parts/ErrorCard";
import { useGo } from "@/parts/useUrl";
import { setPrefs, themeNow, useTheme } from "@/prefs";

import { DemoStrip } from "./DemoStrip";
import { useKeys } from "./keyboard";
import { Nav } from "./Nav";
import { PLACES } from "./places";
import { SignedOut } from "./SignedOut";
import { TopBar } from "./TopBar";
import { loadZones } from "./ZonePicker";

const CODE = { palette: () => import("./Palette"), shortcuts: () => import("./Shortcuts") };
const Palette = lazy(CODE.palette);
const Shortcuts = lazy(CODE.shortcuts);

/** What is around every page. */
export function Frame() {
  // What is shown, not what is on its way: until the page to sign in is loaded, the outlet still holds the one before.
  const login = useRouterState({ select: (state) => state.matches.at(-1)?.pathname === "/login" });
  const session = useQuery(sessionQuery);
  const theme = useTheme();
  const go = useGo();
  const out = session.data?.mode === "secured" && !session.data.signed_in;
  useEffect(() => {
    // Only somebody who arrives is sent to sign in; whoever was here keeps the page, see SignedOut.
    if (out && !login && !everSignedIn)
      go(`/login?to=${encodeURIComponent(window.location.pathname + window.location.search)}`, true);
  }, [out, login, go]);
  return (
    <>
      {login ? (
        <Outlet />
      ) : session.data ? (
        out && !everSignedIn ? null : (
          <Inside out={out} />
        )
      ) : session.error ? (
        <div className="mx-auto max-w-2xl p-6">
          <ErrorCard
            error={session.error}
            what="The dashboard could not reach Foliot"
            onRetry={() => void session.refetch()}
          />
        </div>
      ) : null}
      <Toaster theme={theme} position="bottom-right" closeButton />
    </>
  );
}

let everSignedIn = false;

function Inside({ out }: { out: boolean }) {
  const [open, setOpen] = useState<"palette" | "shortcuts" | "nav" | null>(null);
  const go = useGo();
  const queries = useQueryClient();
  const close = (): void => setOpen(null);
  // Opened once it is there: a page is not lost because this cannot be loaded.
  const show = (what: keyof typeof CODE): void =>
    void loading(CODE[what])().then(
      () => setOpen(what),
      () => toast.error("The server does not answer; this was not opened before it went away"),
    );
  useEffect(() => whenIdle([...Object.values(CODE), loadZones]), []);
  everSignedIn ||= !out;
  useFreshness();
  useEffect(() => (out ? live.rest() : live.wake()), [out]);
  useEffect(() => onSignedOut(() => void queries.invalidateQueries({ queryKey: keys.session })), [queries]);
  useKeys({
    "mod+k": () => (open === "palette" ? close() : show("palette")),
    "?": () => show("shortcuts"),
    t: () => setPrefs({ theme: themeNow() === "dark" ? "light" : "dark" }),
    n: () => go("/schedules/new"),
    ...Object.fromEntries(PLACES.map((place) => [`g ${place.key}`, () => go(place.to)])),
  });
  return (
    <div className="flex h-full">
      <a href="#main" className="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:bg-raised focus:p-2">
        Skip to the content
      </a>
      <div className="hidden md:block">
        <Nav onShortcuts={() => show("shortcuts")} />
      </div>
      <div className="flex min-w-0 flex-1 flex-col">
        <TopBar onPalette={() => show("palette")} onShortcuts={() => show("shortcuts")} onNav={() => setOpen("nav")} />
        <DemoStrip />
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
      {out ? <SignedOut /> : null}
    </div>
  );
}
