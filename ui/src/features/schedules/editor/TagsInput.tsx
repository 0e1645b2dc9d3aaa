import { useQuery } from "@tanstack/react-query";
import { X } from "lucide-react";
import { useState } from "react";

import { ask } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import { Field } from "@/parts/form/Field";

/** Tags as chips; Enter or a comma adds one, Backspace takes the last away. */
export function TagsInput({
  tags,
  onChange,
  name = "tags",
  label = "Tags",
  placeholder = "prices, nightly",
}: {
  tags: readonly string[];
  onChange: (tags: string[]) => void;
  name?: string;
  label?: string;
  placeholder?: string;
}) {
  const [typed, setTyped] = useState("");
  const { data } = useQuery({
    queryKey: queryKeys.suggest("tag", typed),
    queryFn: ({ signal }) => ask("/api/suggest", { query: { field: "tag", prefix: typed, limit: 8 }, signal }),
    enabled: typed !== "",
    retry: false,
    staleTime: 60_000,
    placeholderData: (before) => before,
  });
  const add = (text: string): void => {
    const fresh = text
      .split(",")
      .map((one) => one.trim().replace(/^#/, ""))
      .filter((one) => one && !tags.includes(one));
    if (fresh.length) onChange([...tags, ...fresh]);
    setTyped("");
  };
  return (
    <Field name={name} label={label}>
      {(wired) => (
        <div className="flex min-h-8 flex-wrap items-center gap-1 rounded border bg-bg px-1.5 py-1 focus-within:border-accent">
          {tags.map((tag) => (
            <span
              key={tag}
              className="inline-flex h-5 items-center gap-1 rounded-full bg-neutral-tint pr-1 pl-2 text-xs"
            >
              {tag}
              <button
                type="button"
                aria-label={`Remove tag ${tag}`}
                onClick={() => onChange(tags.filter((one) => one !== tag))}
                className="text-muted hover:text-ink"
              >
                <X size={12} />
              </button>
            </span>
          ))}
          <input
            {...wired}
            list={`known-${name}`}
            value={typed}
            placeholder={tags.length ? "" : placeholder}
            autoComplete="off"
            onChange={(event) =>
              event.target.value.includes(",") ? add(event.target.value) : setTyped(event.target.value)
            }
            onKeyDown={(event) => {
              if (event.key === "Enter" && typed.trim()) {
                event.preventDefault();
                add(typed);
              } else if (event.key === "Backspace" && !typed && tags.length) onChange(tags.slice(0, -1));
            }}
            onBlur={() => add(typed)}
            className="min-w-20 flex-1 bg-transparent px-1 outline-none"
          />
          <datalist id={`known-${name}`}>
            {data?.items.map((item) => (
              <option key={item.value} value={item.value} />
            ))}
          </datalist>
        </div>
      )}
    </Field>
  );
}
