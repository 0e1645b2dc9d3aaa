import { Trash2 } from "lucide-react";

import { Button } from "@/parts/Button";
import { INPUT } from "@/parts/form/Field";
import { useFieldErrors } from "@/parts/form/fieldErrors";

import { FIELD_TYPES, type FieldInput, type Way } from "./form";

const WAYS: readonly (readonly [Way, string])[] = [
  ["css", "CSS"],
  ["xpath", "XPath"],
  ["json", "JSON path"],
  ["regex", "Regular expression"],
];

/** The fields that are read from each page. */
export function FieldRows({
  fields,
  onChange,
}: {
  fields: readonly FieldInput[];
  onChange: (fields: FieldInput[]) => void;
}) {
  const complaints = useFieldErrors("fields");
  const set = (index: number, values: Partial<FieldInput>): void =>
    onChange(fields.map((field, at) => (at === index ? { ...field, ...values } : field)));
  return (
    <div className="flex flex-col gap-2">
      {fields.map((field, index) => (
        <div key={index} className="flex flex-wrap items-center gap-2">
          <input
            aria-label={`Name of field ${index + 1}`}
            placeholder="price"
            value={field.name}
            onChange={(event) => set(index, { name: event.target.value })}
            className={`${INPUT} max-w-28 font-mono text-xs`}
          />
          <select
            aria-label={`Type of field ${index + 1}`}
            value={field.type}
            onChange={(event) => set(index, { type: event.target.value as FieldInput["type"] })}
            className="h-8 rounded border bg-bg px-1"
          >
            {FIELD_TYPES.map((type) => (
              <option key={type}>{type}</option>
            ))}
          </select>
          <select
            aria-label={`Selector of field ${index + 1} by`}
            value={field.way}
            onChange={(event) => set(index, { way: event.target.value as Way })}
            className="h-8 rounded border bg-bg px-1"
          >
            {WAYS.map(([way, label]) => (
              <option key={way} value={way}>
                {label}
              </option>
            ))}
          </select>
          <input
            aria-label={`Selector of field ${index + 1}`}
            placeholder=".price"
            value={field.selector}
            onChange={(event) => set(index, { selector: event.target.value })}
            className={`${INPUT} min-w-40 flex-1 font-mono text-xs`}
          />
          <label className="flex items-center gap-1 text-xs text-muted">
            <input
              type="checkbox"
              checked={field.optional}
              onChange={(event) => set(index, { optional: event.target.checked })}
            />
            optional
          </label>
          <Button
            size="small"
            kind="quiet"
            aria-label={`Remove field ${index + 1}`}
            icon={<Trash2 size={14} />}
            onClick={() => onChange(fields.filter((_, at) => at !== index))}
          />
        </div>
      ))}
      {complaints.map((complaint) => (
        <p key={`${complaint.field} ${complaint.message}`} role="alert" className="text-xs text-failed-ink">
          <code className="font-mono">{complaint.field}</code> {complaint.message}.
        </p>
      ))}
      <div>
        <Button
          size="small"
          onClick={() => onChange([...fields, { name: "", type: "text", way: "css", selector: "", optional: false }])}
        >
          Add field
        </Button>
      </div>
    </div>
  );
}
