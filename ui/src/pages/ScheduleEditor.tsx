import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useState } from "react";

import type { Schedule } from "@/api/calls";
import { ask, freshKey } from "@/api/client";
import { ProblemError } from "@/api/problem";
import { useSession } from "@/api/session";
import { ErrorCard } from "@/parts/ErrorCard";
import { Page } from "@/parts/Page";
import { Skeleton } from "@/parts/Skeleton";
import { useUrl } from "@/parts/useUrl";
import { useZone } from "@/prefs";

import { Editor } from "./editor/Editor";
import { formOf, freshForm } from "./editor/form";
import { useEcho } from "./editor/inputs";
import { Missing } from "./schedule/Missing";
import { TEMPLATES } from "./schedules/templates";

const LIST = [{ label: "Schedules", to: "/schedules" }];

export default function ScheduleEditor() {
  const { id } = useParams({ strict: false }) as { id?: string };
  const [from] = useUrl("from");
  return id ? <Existing key={id} id={id} /> : from ? <Existing key={from} id={from} copy /> : <Fresh />;
}

function Fresh() {
  const [template] = useUrl("template", "webhook");
  const zone = useZone();
  const echo = useEcho();
  const ready = useSession() !== undefined;
  const { kind, name, words } = TEMPLATES.find((one) => one.kind === template) ??
    TEMPLATES[0] ?? { kind: "webhook", name: "", words: "every day at 09:00" };
  if (!ready) return <Waiting title="New schedule" />;
  return (
    <Editor
      key={template}
      start={freshForm(kind, name, words, zone, echo)}
      existing={null}
      title="New schedule"
      crumbs={LIST}
    />
  );
}

function Existing({ id, copy }: { id: string; copy?: boolean }) {
  // Read anew whenever the editor opens, and then once: what somebody is writing must not change under the hands.
  const [opening] = useState(freshKey);
  const { data, error, refetch } = useQuery({
    queryKey: ["editing", id, opening],
    queryFn: ({ signal }) => ask<Schedule>(`/api/schedules/${id}`, { signal }),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    retry: false,
  });
  if (error instanceof ProblemError && error.status === 404) return <Missing id={id} crumbs={LIST} />;
  if (error) {
    return (
      <Page title={id} crumbs={LIST}>
        <ErrorCard error={error} what="The schedule could not be read" onRetry={() => void refetch()} />
      </Page>
    );
  }
  if (!data) return <Waiting title={copy ? "New schedule" : "Edit"} />;
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

function Waiting({ title }: { title: string }) {
  return (
    <Page title={title} crumbs={LIST}>
      <div className="grid gap-4 lg:grid-cols-[minmax(0,1fr)_minmax(380px,460px)]">
        <Skeleton className="h-96 w-full" />
        <Skeleton className="h-96 w-full" />
      </div>
    </Page>
  );
}
