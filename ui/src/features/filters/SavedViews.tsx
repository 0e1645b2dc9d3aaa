import { useQueries } from "@tanstack/react-query";
import { MoreHorizontal, Plus } from "lucide-react";
import { useState } from "react";
import { toast } from "sonner";

import { ask } from "@/api/client";
import type { SavedView } from "@/api/schema";
import { Button } from "@/parts/Button";
import { Modal } from "@/parts/Confirm";
import { cx } from "@/parts/cx";
import { Menu } from "@/parts/Menu";
import { number } from "@/time/moment";

import { useViews } from "./useViews";
import { LONGEST_NAME, nameError, type View } from "./views";

/** On the page of runs, "All" already names all states. */
const ALL = { runs: { name: "All runs", q: "" }, schedules: { name: "All", q: "" } };

/** Built-in and saved filters with the number of their matches. */
export function SavedViews({
  list,
  fixed,
  q,
  sort = "",
  wait,
  onChoose,
}: {
  list: "runs" | "schedules";
  fixed: readonly View[];
  q: string;
  /** The order of the list, when it is not the usual one. */
  sort?: string;
  /** Counts are requested after the rows. */
  wait: boolean;
  onChoose: (q: string, sort: string) => void;
}) {
  const [saved, actions] = useViews(list);
  const own = saved.filter((view) => view.mine);
  const [naming, setNaming] = useState<SavedView | "new" | null>(null);
  const builtIn: View[] = [ALL[list], ...fixed];
  const views: (View | SavedView)[] = [...builtIn, ...saved];
  const counts = useQueries({
    queries: views.map((view) => ({
      queryKey: [list, "view", view.q],
      queryFn: ({ signal }: { signal: AbortSignal }) => ask(`/api/${list}/count`, { query: { q: view.q }, signal }),
      // The list itself shows the total.
      enabled: view.q !== "" && !wait,
      staleTime: 5000,
      retry: false,
    })),
  });
  const save = (done: Promise<unknown>): void =>
    void done.catch((error: unknown) => toast.error(error instanceof Error ? error.message : "The view was not saved"));
  const known = views.some((view) => view.q === q && (view.sort ?? "") === sort);
  return (
    <div role="group" aria-label="Views" className="flex min-w-0 items-center gap-1 overflow-x-auto">
      {views.map((view, index) => {
        const found = counts[index];
        const chosen = q === view.q && (view.sort ?? "") === sort;
        const mine = "mine" in view && view.mine ? view : null;
        const others = "mine" in view && !view.mine ? view.user_id : null;
        return (
          <span key={"id" in view ? view.id : view.name} className="flex shrink-0 items-center">
            <button
              type="button"
              aria-pressed={chosen}
              title={
                found?.isError
                  ? "Cannot count this filter. Open it to see why."
                  : [view.q, others ? `shared by ${others}` : ""].filter(Boolean).join(" · ") || undefined
              }
              onClick={() => onChoose(view.q, view.sort ?? "")}
              className={cx(
                "h-8 rounded px-2.5 text-sm whitespace-nowrap",
                chosen ? "bg-accent-tint font-medium text-ink" : "text-muted hover:bg-surface hover:text-ink",
              )}
            >
              {view.name}{" "}
              {found?.data?.count ? (
                <span className={cx("ml-1 text-xs", /fail/i.test(view.name) ? "text-failed-ink" : "text-muted")}>
                  {number(found.data.count)}
                </span>
              ) : null}
              {found?.isError ? <span className="ml-1 text-xs text-attention-ink">?</span> : null}
            </button>
            {mine && chosen ? (
              <Menu
                trigger={
                  <Button
                    size="small"
                    kind="quiet"
                    aria-label={`Edit view ${view.name}`}
                    icon={<MoreHorizontal size={14} aria-hidden />}
                  />
                }
                items={[
                  { label: "Rename…", onSelect: () => setNaming(mine) },
                  {
                    label: mine.shared ? "Stop sharing" : "Share with the tenant",
                    onSelect: () => save(actions.change(mine, { shared: !mine.shared })),
                  },
                  { label: "Remove", danger: true, onSelect: () => save(actions.remove(mine)) },
                ]}
              />
            ) : null}
          </span>
        );
      })}
      {known ? null : (
        <Button
          size="small"
          kind="quiet"
          className="shrink-0"
          icon={<Plus size={13} aria-hidden />}
          onClick={() => setNaming("new")}
        >
          Save view
        </Button>
      )}
      <Modal
        open={naming !== null}
        onClose={() => setNaming(null)}
        title={naming === "new" ? "Save filter as view" : "Rename view"}
      >
        {naming === null ? null : (
          <Naming
            view={naming === "new" ? { name: "", q } : naming}
            action={naming === "new" ? "Save view" : "Rename"}
            refuse={(name) =>
              nameError(
                own,
                name,
                builtIn.map((one) => one.name),
                naming === "new" ? undefined : naming.name,
              )
            }
            onName={(name) => {
              save(
                naming === "new" ? actions.add(name.trim(), q, sort) : actions.change(naming, { name: name.trim() }),
              );
              setNaming(null);
            }}
          />
        )}
      </Modal>
    </div>
  );
}

function Naming({
  view,
  action,
  refuse,
  onName,
}: {
  view: View;
  action: string;
  refuse: (name: string) => string | null;
  onName: (name: string) => void;
}) {
  const [name, setName] = useState(view.name);
  const [tried, setTried] = useState(false);
  const wrong = refuse(name);
  return (
    <form
      className="flex flex-col gap-3 text-sm"
      onSubmit={(event) => {
        event.preventDefault();
        setTried(true);
        if (!wrong) onName(name);
      }}
    >
      <code className="rounded bg-surface px-2 py-1 font-mono text-xs break-all">{view.q}</code>
      <label className="flex flex-col gap-1">
        Name
        <input
          autoFocus
          value={name}
          maxLength={LONGEST_NAME}
          onChange={(event) => setName(event.target.value)}
          aria-invalid={tried && wrong !== null}
          aria-describedby="view-wrong"
          autoComplete="off"
          className="h-8 rounded border bg-bg px-2"
        />
      </label>
      <p id="view-wrong" role="alert" className="min-h-5 text-xs text-failed-ink">
        {tried ? wrong : null}
      </p>
      <div className="flex items-center justify-between gap-3">
        <span className="text-xs text-muted">Saved for you; you can share it with the tenant.</span>
        <Button type="submit" kind="primary" acts={false}>
          {action}
        </Button>
      </div>
    </form>
  );
}
