import { useSession } from "@/api/session";
import { ActionInput, ActionTextarea } from "@/parts/form/ActionInput";
import { type ActionFormProps, type ActionKind, jsonOf, textOf } from "@/parts/form/actionKind";

export const crawlAction: ActionKind = {
  blank: () => ({ spider: "seo", project: "", start_urls: "", depth: "1", params: "" }),
  read: ({ start_urls, params }) => ({
    start_urls: Array.isArray(start_urls) ? start_urls.join("\n") : textOf(start_urls),
    params: jsonOf(params),
  }),
  write: (reader) => ({
    spider: reader.text("spider"),
    project: reader.text("project"),
    start_urls: reader.lines("start_urls"),
    depth: reader.number("depth"),
    params: reader.object("params"),
  }),
  Form: CrawlForm,
};

function CrawlForm(form: ActionFormProps) {
  const session = useSession();
  return (
    <>
      {session?.features && !session.features.scrapyd ? (
        <p className="rounded bg-attention-tint px-3 py-2 text-xs text-attention-ink">
          No Scrapyd is configured, so crawls cannot run. Start the server with SCRAPYD_URL.
        </p>
      ) : null}
      <div className="grid gap-3 sm:grid-cols-3">
        <ActionInput form={form} name="spider" label="Spider" placeholder="seo" />
        <ActionInput form={form} name="depth" label="Depth" placeholder="1" />
        <ActionInput form={form} name="project" label="Project" placeholder="server default" />
      </div>
      <ActionTextarea
        form={form}
        name="start_urls"
        label="Start URLs, one per line"
        rows={4}
        placeholder="https://example.com/"
      />
      <ActionTextarea form={form} name="params" label="Spider arguments (JSON)" rows={2} placeholder="{}" />
    </>
  );
}
