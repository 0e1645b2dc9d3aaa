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
        hint="A URL; behind it, if wanted, its source, category and priority, with a comma and a blank between them."
      />
      <ActionInput
        form={form}
        name="max_age_seconds"
        label="Use a copy that is younger than, in seconds"
        placeholder="0"
        className="max-w-72"
      />
    </>
  );
}
