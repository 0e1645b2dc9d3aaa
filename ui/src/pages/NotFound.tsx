import { Compass } from "lucide-react";

import { Empty } from "@/parts/Empty";
import { Go } from "@/parts/Go";
import { Page } from "@/parts/Page";

export function NotFound() {
  return (
    <Page title="No such page">
      <Empty
        icon={Compass}
        title="There is no page at this address"
        actions={
          <Go to="/" className="text-accent underline">
            Go to the overview
          </Go>
        }
      >
        {window.location.pathname}
      </Empty>
    </Page>
  );
}
