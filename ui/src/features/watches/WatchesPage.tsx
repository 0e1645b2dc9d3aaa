import { pathOf } from "@/api/client";
import { Button } from "@/parts/Button";
import { CopyAs } from "@/parts/copy/CopyAs";
import { type Call, command } from "@/parts/copy/snippets";
import { Page } from "@/parts/Page";
import { Tabs } from "@/parts/Tabs";
import { useNavigateTo, useUrl } from "@/parts/useUrl";

import { ChangesTab } from "./ChangesTab";
import { WatchTable } from "./WatchTable";

/** Watched pages, and what changed on them. */
export default function WatchesPage() {
  const go = useNavigateTo();
  const [tab] = useUrl("tab", "watches");
  const [q] = useUrl("changes");
  const add = (
    <Button kind="primary" needs="write:watch" onClick={() => go("/watches/new")}>
      New watch
    </Button>
  );
  const watches: Call = { verb: "List watches", method: "GET", path: "/api/watches", cli: "watches list" };
  const changes: Call = {
    verb: "List changes",
    method: "GET",
    path: pathOf("/api/changes", { query: q ? { q } : {} }),
    cli: command("changes", { "--query": q }),
  };
  return (
    <Page
      title="Watches"
      actions={
        <>
          {add}
          <CopyAs call={tab === "changes" ? changes : watches} />
        </>
      }
    >
      <Tabs
        tabs={[
          { id: "watches", label: "Watches", content: <WatchTable add={add} /> },
          { id: "changes", label: "Changes", content: <ChangesTab /> },
        ]}
      />
    </Page>
  );
}
