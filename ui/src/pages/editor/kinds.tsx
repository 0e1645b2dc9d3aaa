import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";

import type { Page, Pipeline, Task } from "@/api/calls";
import { ask } from "@/api/client";
import { keys } from "@/api/keys";
import { useSession } from "@/api/session";
import { Go } from "@/parts/Go";

import { Field, INPUT } from "./Field";
import { Area, type Part, Text, Unfold, useEcho } from "./inputs";
import { MoveSecrets } from "./MoveSecret";

function Webhook(part: Part) {
  const echo = useEcho();
  return (
    <>
      <div className="flex gap-2">
        <Field name="action.method" label="Method" className="w-28 shrink-0">
          {(wired) => (
            <select
              {...wired}
              value={part.doing.inputs.method || "POST"}
              onChange={(event) => part.onChange({ method: event.target.value })}
              className={INPUT}
            >
              {["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"].map((one) => (
                <option key={one}>{one}</option>
              ))}
            </select>
          )}
        </Field>
        <Text
          part={part}
          name="url"
          label="URL"
          placeholder="https://example.com/hook"
          mono
          className="flex-1"
          hint={
            part.doing.inputs.url === echo
              ? "This server's own echo receiver: it answers with what it was sent."
              : undefined
          }
        />
      </div>
      <Area part={part} name="body" label="Body, as JSON" rows={3} placeholder={'{ "hello": "world" }'} />
      <Unfold title="Headers" open={Boolean(part.doing.inputs.headers)}>
        <Area
          part={part}
          name="headers"
          label="Headers, one per line"
          rows={2}
          placeholder="Authorization: Bearer {{ secret.PARTNER }}"
          hint="{{ secret.NAME }} stands for a secret of the settings; *** keeps the credential that was written here."
        />
        <MoveSecrets part={part} />
      </Unfold>
    </>
  );
}

function Crawl(part: Part) {
  const session = useSession();
  return (
    <>
      {session?.features && !session.features.scrapyd ? (
        <p className="rounded bg-attention-tint px-3 py-2 text-xs text-attention-ink">
          This server knows no Scrapyd, so a crawl cannot run. Start it with SCRAPYD_URL.
        </p>
      ) : null}
      <div className="grid gap-3 sm:grid-cols-3">
        <Text part={part} name="spider" label="Spider" placeholder="seo" />
        <Text part={part} name="depth" label="Depth" placeholder="1" />
        <Text part={part} name="project" label="Project" placeholder="the server's default" />
      </div>
      <Area
        part={part}
        name="start_urls"
        label="Start URLs, one per line"
        rows={4}
        placeholder="https://example.com/"
      />
      <Area part={part} name="params" label="Arguments of the spider, as JSON" rows={2} placeholder="{}" />
    </>
  );
}

function Articles(part: Part) {
  return (
    <>
      <Area
        part={part}
        name="articles"
        label="Articles, one per line"
        rows={7}
        placeholder={"https://example.com/news/1\nhttps://example.com/news/2, Example, news, 3"}
        hint="A URL; behind it, if wanted, its source, category and priority, with a comma and a blank between them."
      />
      <Text
        part={part}
        name="max_age_seconds"
        label="Use a copy that is younger than, in seconds"
        placeholder="0"
        className="max-w-72"
      />
    </>
  );
}

function PipelineForm(part: Part) {
  const { data, isPending } = useQuery({
    queryKey: keys.pipelines,
    queryFn: ({ signal }) => ask<Page<Pipeline>>("/api/pipelines", { signal }),
    retry: false,
  });
  const names = data?.items.map((one) => one.name) ?? [];
  const value = part.doing.inputs.pipeline ?? "";
  return (
    <Field
      name="action.pipeline"
      label="Pipeline"
      hint={
        names.length || isPending ? (
          "From the pipelines file; its own schedule, if it has one, goes on beside this one."
        ) : (
          <NoPipelines />
        )
      }
    >
      {(wired) => (
        <select
          {...wired}
          value={value}
          onChange={(event) => part.onChange({ pipeline: event.target.value })}
          className={INPUT}
        >
          <option value="">Choose a pipeline</option>
          {[...new Set([...names, ...(value ? [value] : [])])].map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      )}
    </Field>
  );
}

const NoPipelines = () => (
  <>
    No pipelines are loaded. Start the server with <code className="font-mono">--pipelines FILE</code>.{" "}
    <Go to="/pipelines" className="text-accent underline">
      Pipelines
    </Go>
  </>
);

function TaskForm(part: Part) {
  const { data } = useQuery({
    queryKey: ["tasks"],
    queryFn: ({ signal }) => ask<Page<Task>>("/api/tasks", { signal }),
    staleTime: 60_000,
    retry: false,
  });
  const value = part.doing.inputs.task ?? "";
  const chosen = data?.items.find((one) => one.name === value);
  const known = Object.keys((chosen?.parameters.properties ?? {}) as Record<string, unknown>);
  return (
    <>
      <Field name="action.task" label="Task" hint={chosen?.description}>
        {(wired) => (
          <select
            {...wired}
            value={value}
            onChange={(event) => part.onChange({ task: event.target.value })}
            className={INPUT}
          >
            <option value="">Choose a task</option>
            {[...new Set([...(data?.items.map((one) => one.name) ?? []), ...(value ? [value] : [])])].map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        )}
      </Field>
      <Area
        part={part}
        name="parameters"
        label="Parameters, as JSON"
        rows={3}
        placeholder="{}"
        hint={known.length ? `It knows ${known.join(", ")}.` : undefined}
      />
    </>
  );
}

function Grpc(part: Part) {
  return (
    <>
      <div className="grid gap-3 sm:grid-cols-2">
        <Text
          part={part}
          name="target_service"
          label="Service"
          placeholder="scraper"
          hint="By the name it has in FOLIOT_SERVICES."
        />
        <Text part={part} name="target_method" label="Method" placeholder="package.Service/Method" mono />
      </div>
      <Area part={part} name="parameters" label="Parameters, as JSON" rows={3} placeholder="{}" />
    </>
  );
}

/** A kind that this dashboard does not know: as it is stored. */
export function Other(part: Part) {
  return <Area part={part} name="config" label={`Configuration of ${part.doing.kind}, as JSON`} rows={8} />;
}

/** What each kind needs to know. */
export const FORMS: Record<string, (part: Part) => ReactNode> = {
  webhook: Webhook,
  crawl: Crawl,
  articles: Articles,
  pipeline: PipelineForm,
  task: TaskForm,
  grpc: Grpc,
};
