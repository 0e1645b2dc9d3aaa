import { Compass } from "lucide-react";

import { Empty } from "@/parts/Empty";
import { Link } from "@/parts/Link";
import { Page } from "@/parts/Page";

export function NotFound() {
  return (
    <Page title="Page not found">
      <Empty
        icon={Compass}
        title="This page does not exist"
        actions={
          <Link to="/" className="text-accent underline">
            Go to the overview
          </Link>
        }
      >
        {window.location.pathname}
      </Empty>
    </Page>
  );
}
