import { useQuery } from "@tanstack/react-query";

import { ask } from "@/api/client";
import { ActionTextarea } from "@/parts/form/ActionInput";
import { type ActionFormProps, type ActionKind, jsonOf } from "@/parts/form/actionKind";
import { Field, INPUT } from "@/parts/form/Field";

export const taskAction: ActionKind = {
  blank: () => ({ task: "", parameters: "" }),
  read: ({ parameters }) => ({ parameters: jsonOf(parameters) }),
  write: (reader) => ({ task: reader.text("task"), parameters: reader.object("parameters") }),
  Form: TaskForm,
};

function TaskForm(form: ActionFormProps) {
  const { data } = useQuery({
    queryKey: ["tasks"],
    queryFn: ({ signal }) => ask("/api/tasks", { signal }),
    staleTime: 60_000,
    retry: false,
  });
  const value = form.inputs.task ?? "";
  const chosen = data?.items.find((task) => task.name === value);
  const known = Object.keys((chosen?.parameters.properties ?? {}) as Record<string, unknown>);
  return (
    <>
      <Field name="action.task" label="Task" hint={chosen?.description}>
        {(wired) => (
          <select
            {...wired}
            value={value}
            onChange={(event) => form.onChange({ task: event.target.value })}
            className={INPUT}
          >
            <option value="">Choose a task</option>
            {[...new Set([...(data?.items.map((task) => task.name) ?? []), ...(value ? [value] : [])])].map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        )}
      </Field>
      <ActionTextarea
        form={form}
        name="parameters"
        label="Parameters (JSON)"
        rows={3}
        placeholder="{}"
        hint={known.length ? `Accepts ${known.join(", ")}.` : undefined}
      />
    </>
  );
}
