import { useState } from "react";

import { send } from "@/api/client";
import type { PreviewPage, WatchPreviewAnswer } from "@/api/schema";
import { Button } from "@/parts/Button";
import { Card } from "@/parts/Card";
import { ErrorCard } from "@/parts/ErrorCard";
import { FieldErrors } from "@/parts/form/fieldErrors";

import { type FieldInput, freeName, previewOf, typeOf, type WatchForm } from "./form";
import { PageStateBadge } from "./PageStateBadge";
import { problemText, shortUrl, shownValue } from "./values";

interface Suggestion {
  css: string;
  matches: number;
  first: boolean;
  text: string;
}

const MOST_LINES = 400;

/** Visits the first page once: what each selector found, and the page's text, in which a value can be chosen. */
export function PreviewCard({
  form,
  onField,
  onError,
}: {
  form: WatchForm;
  onField: (field: FieldInput) => void;
  onError: (error: unknown) => void;
}) {
  const [answer, setAnswer] = useState<WatchPreviewAnswer | null>(null);
  const [found, setFound] = useState<{ text: string; selectors: Suggestion[] } | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const visit = async (find?: string): Promise<void> => {
    setBusy(true);
    setError(null);
    try {
      const body = find === undefined ? previewOf(form) : { ...previewOf(form), find };
      const given = await send("POST", "/api/watches/preview", { body });
      onError(null);
      if (find === undefined) {
        setAnswer(given);
        setFound(null);
      } else setFound({ text: find, selectors: (given.pages[0]?.selectors ?? []) as unknown as Suggestion[] });
    } catch (failure) {
      setError(failure);
      onError(failure);
    } finally {
      setBusy(false);
    }
  };
  const choose = (suggestion: Suggestion): void => {
    const type = typeOf(found?.text ?? suggestion.text);
    const way = suggestion.css.startsWith("/") ? "xpath" : "css";
    onField({ name: freeName(type, form.fields), type, way, selector: suggestion.css, optional: false });
    setFound(null);
  };
  const page = answer?.pages[0];
  return (
    <Card
      title="Preview"
      aside={
        <Button size="small" acts busy={busy} onClick={() => void visit()}>
          {answer ? "Visit again" : "Visit the first page"}
        </Button>
      }
    >
      <div className="flex flex-col gap-3 text-sm">
        {error ? <Refused error={error} /> : null}
        {!answer && !error ? <p className="text-muted">Visits the first page once and stores nothing.</p> : null}
        {answer?.problems.map((problem) => (
          <p key={problem} role="alert" className="text-failed-ink">
            {problem}
          </p>
        ))}
        {page ? <Found page={page} answer={answer} /> : null}
        {found ? <Suggestions found={found} onChoose={choose} onClose={() => setFound(null)} /> : null}
        {page?.text ? <PageText text={page.text} busy={busy} onPick={(line) => void visit(line)} /> : null}
      </div>
    </Card>
  );
}

/** Complaints about fields stand at the fields. */
function Refused({ error }: { error: unknown }) {
  if (new FieldErrors(error).any) return <p className="text-failed-ink">Fix the marked fields first.</p>;
  return <ErrorCard error={error} what="Could not visit the page" />;
}

function Found({ page, answer }: { page: PreviewPage; answer: WatchPreviewAnswer }) {
  return (
    <>
      <p className="flex flex-wrap items-center gap-2">
        <PageStateBadge state={page.state} />
        <span className="min-w-0 truncate">{shortUrl(page.url)}</span>
        {answer.listed === null ? null : <span className="text-muted">first of {answer.listed} pages</span>}
      </p>
      {page.problem ? <p className="text-failed-ink">{problemText(page.problem)}</p> : null}
      <dl className="grid grid-cols-[max-content_1fr] gap-x-4 gap-y-1">
        {Object.entries(page.fields).map(([name, value]) => (
          <FoundField key={name} name={name} value={value} around={page.around[name]} hint={page.hints[name]} />
        ))}
      </dl>
      {answer.when === null ? null : (
        <p>
          The condition is <strong>{answer.when ? "true" : "not true"}</strong> for the page as it is now.
        </p>
      )}
    </>
  );
}

function FoundField({
  name,
  value,
  around,
  hint,
}: {
  name: string;
  value: unknown;
  around?: string | null;
  hint?: string;
}) {
  return (
    <>
      <dt className="font-mono text-xs">{name}</dt>
      <dd className="min-w-0">
        {value === null ? <span className="text-failed-ink">not found</span> : <strong>{shownValue(value)}</strong>}
        {around ? <span className="block truncate text-xs text-muted">{around}</span> : null}
        {hint ? <span className="block text-xs text-attention-ink">{hint}</span> : null}
      </dd>
    </>
  );
}

function Suggestions({
  found,
  onChoose,
  onClose,
}: {
  found: { text: string; selectors: Suggestion[] };
  onChoose: (suggestion: Suggestion) => void;
  onClose: () => void;
}) {
  return (
    <section aria-label="Selectors" className="rounded border p-3">
      <p className="mb-2 flex items-center gap-2">
        <span className="min-w-0 flex-1 truncate">
          Selectors for <strong>{found.text}</strong>
        </span>
        <Button size="small" kind="quiet" onClick={onClose}>
          Close
        </Button>
      </p>
      {found.selectors.length ? (
        <ul className="flex flex-col gap-1">
          {found.selectors.map((suggestion) => (
            <li key={suggestion.css} className="flex items-center gap-2">
              <code className="min-w-0 flex-1 truncate font-mono text-xs">{suggestion.css}</code>
              <span className="text-xs whitespace-nowrap text-muted">
                {suggestion.matches === 1
                  ? "only match"
                  : `${suggestion.first ? "first" : "one"} of ${suggestion.matches}`}
              </span>
              <Button size="small" onClick={() => onChoose(suggestion)}>
                Use as field
              </Button>
            </li>
          ))}
        </ul>
      ) : (
        <p className="text-muted">No selector matches this text. Choose a shorter part of it.</p>
      )}
    </section>
  );
}

/** Rendered as text only: it is a foreign page's. */
function PageText({ text, busy, onPick }: { text: string; busy: boolean; onPick: (line: string) => void }) {
  const lines = text.split("\n").filter((line) => line.trim());
  return (
    <div>
      <p className="mb-1 text-xs text-muted">The page&apos;s text: choose a value to get its selector.</p>
      <ul aria-label="Text of the page" className="max-h-96 overflow-y-auto rounded border p-1">
        {lines.slice(0, MOST_LINES).map((line, index) => (
          <li key={index}>
            <button
              type="button"
              disabled={busy}
              onClick={() => onPick(line.trim().slice(0, 500))}
              className="w-full truncate rounded px-2 py-0.5 text-left hover:bg-accent-tint"
            >
              {line}
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}
