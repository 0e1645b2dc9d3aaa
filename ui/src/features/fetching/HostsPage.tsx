import { StoredPagesTable } from "@/features/stored_pages/StoredPagesTable";
import { Page } from "@/parts/Page";
import { Tabs } from "@/parts/Tabs";

import { HostTable } from "./HostTable";

/** Hosts that pages are fetched from, and the pages that were kept. */
export default function HostsPage() {
  return (
    <Page title="Hosts">
      <Tabs
        tabs={[
          { id: "hosts", label: "Hosts", content: <HostTable /> },
          { id: "pages", label: "Stored pages", content: <StoredPagesTable /> },
        ]}
      />
    </Page>
  );
}
