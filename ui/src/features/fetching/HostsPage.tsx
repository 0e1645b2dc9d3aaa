import { StoredPagesTable } from "@/features/stored_pages/StoredPagesTable";
import { CopyAs } from "@/parts/copy/CopyAs";
import { Page } from "@/parts/Page";
import { Tabs } from "@/parts/Tabs";
import { useUrl } from "@/parts/useUrl";

import { HostTable } from "./HostTable";

/** Hosts that pages are fetched from, and the pages that were kept. */
export default function HostsPage() {
  const [tab] = useUrl("tab", "hosts");
  const call =
    tab === "pages"
      ? { verb: "List stored pages", method: "GET", path: "/api/pages", cli: "pages list" }
      : { verb: "List hosts", method: "GET", path: "/api/hosts", cli: "host list" };
  return (
    <Page title="Hosts" actions={<CopyAs call={call} />}>
      <Tabs
        tabs={[
          { id: "hosts", label: "Hosts", content: <HostTable /> },
          { id: "pages", label: "Stored pages", content: <StoredPagesTable /> },
        ]}
      />
    </Page>
  );
}
