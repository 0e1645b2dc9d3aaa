import { articlesAction } from "@/features/articles/action";
import { crawlAction } from "@/features/crawls/action";
import { grpcAction } from "@/features/grpc_calls/action";
import { pipelineAction } from "@/features/pipelines/action";
import { taskAction } from "@/features/tasks/action";
import { webhookAction } from "@/features/webhooks/action";
import { ActionTextarea } from "@/parts/form/ActionInput";
import type { ActionKind } from "@/parts/form/actionKind";

/** Every kind of action that the editor has a form for; adding one takes its feature's `action.tsx` and a line here. */
export const ACTION_KINDS: Readonly<Record<string, ActionKind>> = {
  webhook: webhookAction,
  crawl: crawlAction,
  articles: articlesAction,
  pipeline: pipelineAction,
  task: taskAction,
  grpc: grpcAction,
};

/** A kind that this dashboard does not know is edited as the JSON that is stored. */
export const UNKNOWN_KIND: ActionKind = {
  blank: () => ({ config: "" }),
  read: (config) => ({ config: JSON.stringify(config, null, 2) }),
  write: (reader) => reader.object("config") ?? {},
  Form: (form) => <ActionTextarea form={form} name="config" label={`${form.kind} configuration (JSON)`} rows={8} />,
};
