import { useQuery } from "@tanstack/react-query";

import { ask } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import type { Run } from "@/api/schema";
import { JsonInput } from "@/parts/form/JsonInput";
import { Json } from "@/parts/Json";

/** The merge patch for every dead letter, beside the payload of a sample. */
export function PatchInput({
  text,
  onText,
  error,
  sample,
}: {
  text: string;
  onText: (text: string) => void;
  error?: string;
  sample?: Run;
}) {
  return (
    <div className="grid gap-4 md:grid-cols-2">
      <JsonInput
        label="Edit each one (JSON merge patch)"
        value={text}
        onChange={onText}
        error={error}
        rows={9}
        placeholder={'{\n  "body": { "sku": 991 }\n}'}
        hint="Objects are merged, null removes a field, anything else replaces it."
      />
      {sample ? <SamplePayload sample={sample} /> : null}
    </div>
  );
}

function SamplePayload({ sample }: { sample: Run }) {
  const schedule = useQuery({
    queryKey: queryKeys.schedule(sample.schedule_id ?? ""),
    queryFn: ({ signal }) =>
      ask("/api/schedules/{schedule_id}", { params: { schedule_id: sample.schedule_id ?? "" }, signal }),
    enabled: sample.action === null && sample.schedule_id !== null,
  }).data;
  const carried = sample.action ?? schedule?.action;
  if (!carried) return null;
  return (
    <div className="flex min-w-0 flex-col gap-1">
      <p className="text-xs font-medium text-muted">Example payload:</p>
      <div className="max-h-52 overflow-auto rounded border">
        <Json value={carried} name={`${sample.id}-payload`} />
      </div>
    </div>
  );
}
