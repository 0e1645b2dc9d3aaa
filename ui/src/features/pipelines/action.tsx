import { useQuery } from "@tanstack/react-query";

import { ask } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import type { ActionFormProps, ActionKind } from "@/parts/form/actionKind";
import { Field, INPUT } from "@/parts/form/Field";
import { Link } from "@/parts/Link";

export const pipelineAction: ActionKind = {
  blank: () => ({ pipeline: "" }),
  write: (reader) => ({ pipeline: reader.text("pipeline") }),
  Form: PipelineForm,
};

function PipelineForm(form: ActionFormProps) {
  const { data, isPending } = useQuery({
    queryKey: queryKeys.pipelines,
    queryFn: ({ signal }) => ask("/api/pipelines", { signal }),
    retry: false,
  });
  const names = data?.items.map((pipeline) => pipeline.name) ?? [];
  const value = form.inputs.pipeline ?? "";
  return (
    <Field
      name="action.pipeline"
      label="Pipeline"
      hint={
        names.length || isPending ? (
          "From the pipelines file. If the pipeline has its own schedule, that one keeps running too."
        ) : (
          <NoPipelines />
        )
      }
    >
      {(wired) => (
        <select
          {...wired}
          value={value}
          onChange={(event) => form.onChange({ pipeline: event.target.value })}
          className={INPUT}
        >
          <option value="">Choose a pipeline</option>
          {[...new Set([...names, ...(value ? [value] : [])])].map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      )}
    </Field>
  );
}

const NoPipelines = () => (
  <>
    No pipelines are loaded. Start the server with <code className="font-mono">--pipelines FILE</code>.{" "}
    <Link to="/pipelines" className="text-accent underline">
      Pipelines
    </Link>
  </>
);
