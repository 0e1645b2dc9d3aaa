import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useState } from "react";

import { ask, newIdempotencyKey } from "@/api/client";
import { ProblemError } from "@/api/problem";
import { useRefusal, useSession } from "@/api/session";
import { useEchoUrl } from "@/features/webhooks/useEchoUrl";
import { Empty } from "@/parts/Empty";
import { ErrorCard } from "@/parts/ErrorCard";
import { Link } from "@/parts/Link";
import { Page } from "@/parts/Page";
import { Skeleton } from "@/parts/Skeleton";
import { useUrl } from "@/parts/useUrl";
import { useZone } from "@/prefs";

import { Editor } from "./editor/Editor";
import { blankForm, formOf } from "./editor/form";
import { ScheduleNotFound } from "./ScheduleNotFound";
import { TEMPLATES } from "./templates";

const LIST = [{ label: "Schedules", to: "/schedules" }];

export default function ScheduleEditorPage() {
  const { id } = useParams({ strict: false }) as { id?: string };
  const [from] = useUrl("from");
  const refused = useRefusal("write:schedule");
  if (refused)
    return (
      <Page title={id ? "Edit" : "New schedule"} crumbs={LIST}>
        <Empty
          title={id ? "You cannot edit schedules" : "You cannot create schedules"}
          actions={
            <Link to={id ? `/schedules/${id}` : "/schedules"} className="text-accent underline">
              {id ? "View the schedule" : "View schedules"}
            </Link>
          }
        >
          {refused}. Ask an administrator of your tenant for the role operator.
        </Empty>
      </Page>
    );
  return id ? (
    <ExistingSchedule key={id} id={id} />
  ) : from ? (
    <ExistingSchedule key={from} id={from} copy />
  ) : (
    <NewSchedule />
  );
}

function NewSchedule() {
  const [template] = useUrl("template", "webhook");
  const zone = useZone();
  const echoUrl = useEchoUrl();
  const ready = useSession() !== undefined;
  const { kind, name, words } = TEMPLATES.find((one) => one.kind === template) ??
    TEMPLATES[0] ?? { kind: "webhook", name: "", words: "every day at 09:00" };
  if (!ready) return <EditorSkeleton title="New schedule" />;
  return (
    <Editor
      key={template}
      start={blankForm(kind, name, words, zone, echoUrl)}
      existing={null}
      title="New schedule"
      crumbs={LIST}
    />
  );
}

function ExistingSchedule({ id, copy }: { id: string; copy?: boolean }) {
  // Read once whenever the editor opens: a refetch must not change a form that is being edited.
  const [opening] = useState(newIdempotencyKey);
  const { data, error, refetch } = useQuery({
    queryKey: ["editing", id, opening],
    queryFn: ({ signal }) => ask("/api/schedules/{schedule_id}", { params: { schedule_id: id }, signal }),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    retry: false,
  });
  if (error instanceof ProblemError && error.status === 404) return <ScheduleNotFound id={id} crumbs={LIST} />;
  if (error) {
    return (
      <Page title={id} crumbs={LIST}>
        <ErrorCard error={error} what="Could not load the schedule" onRetry={() => void refetch()} />
      </Page>
    );
  }
  if (!data) return <EditorSkeleton title={copy ? "New schedule" : "Edit"} />;
  if (copy)
    return (
      <Editor
        start={{ ...formOf(data), name: `${data.name}-copy`, source: data.id }}
        existing={null}
        title="New schedule"
        crumbs={LIST}
      />
    );
  return (
    <Editor
      start={formOf(data)}
      existing={data}
      title="Edit"
      crumbs={[...LIST, { label: data.name, to: `/schedules/${id}` }]}
    />
  );
}

function EditorSkeleton({ title }: { title: string }) {
  return (
    <Page title={title} crumbs={LIST}>
      <div className="grid gap-4 lg:grid-cols-[minmax(0,1fr)_minmax(380px,460px)]">
        <Skeleton className="h-96 w-full" />
        <Skeleton className="h-96 w-full" />
      </div>
    </Page>
  );
}
