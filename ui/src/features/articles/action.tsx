import { ActionInput, ActionTextarea } from "@/parts/form/ActionInput";
import type { ActionFormProps, ActionKind } from "@/parts/form/actionKind";

import { articleLineOf, parseArticleLine } from "./articleLine";

export const articlesAction: ActionKind = {
  blank: () => ({ articles: "", max_age_seconds: "" }),
  read: ({ articles }) => ({ articles: (Array.isArray(articles) ? articles : []).map(articleLineOf).join("\n") }),
  write: (reader) => ({
    articles: reader.lines("articles").map(parseArticleLine),
    max_age_seconds: reader.number("max_age_seconds"),
  }),
  Form: ArticlesForm,
};

function ArticlesForm(form: ActionFormProps) {
  return (
    <>
      <ActionTextarea
        form={form}
        name="articles"
        label="Articles, one per line"
        rows={7}
        placeholder={"https://example.com/news/1\nhttps://example.com/news/2, Example, news, 3"}
        hint="A URL, optionally followed by source, category and priority, separated by a comma and a space."
      />
      <ActionInput
        form={form}
        name="max_age_seconds"
        label="Reuse cached copies up to (seconds old)"
        placeholder="0"
        className="max-w-72"
      />
    </>
  );
}
