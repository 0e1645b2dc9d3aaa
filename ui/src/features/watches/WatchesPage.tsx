import { Button } from "@/parts/Button";
import { Page } from "@/parts/Page";
import { Tabs } from "@/parts/Tabs";
import { useNavigateTo } from "@/parts/useUrl";

import { ChangesTab } from "./ChangesTab";
import { WatchTable } from "./WatchTable";

/** Watched pages, and what changed on them. */
export default function WatchesPage() {
  const go = useNavigateTo();
  const add = (
    <Button kind="primary" needs="write:watch" onClick={() => go("/watches/new")}>
      New watch
    </Button>
  );
  return (
    <Page title="Watches" actions={add}>
      <Tabs
        tabs={[
          { id: "watches", label: "Watches", content: <WatchTable add={add} /> },
          { id: "changes", label: "Changes", content: <ChangesTab /> },
        ]}
      />
    </Page>
  );
}
