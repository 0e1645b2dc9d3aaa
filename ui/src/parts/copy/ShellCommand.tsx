import { CopyButton } from "./CopyButton";
import { atServer } from "./snippets";

/** A command of the CLI, ready to paste: it asks the server of this page. */
export function ShellCommand({ cli }: { cli: string }) {
  const text = atServer(cli, window.location.origin);
  return (
    <span className="flex max-w-full items-center gap-2 rounded border bg-surface py-1 pr-1 pl-3 text-left">
      <code tabIndex={0} className="min-w-0 flex-1 overflow-x-auto font-mono text-xs whitespace-nowrap text-ink">
        {text}
      </code>
      <CopyButton text={text} size="small" />
    </span>
  );
}
