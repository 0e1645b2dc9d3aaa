import { Dialog } from "radix-ui";
import { type ReactNode, useRef, useState } from "react";

import { Button } from "./Button";

export interface ConfirmProps {
  open: boolean;
  onClose: () => void;
  onConfirm: () => void | Promise<unknown>;
  title: string;
  /** A verb and its number: "Cancel 31 runs". */
  action: string;
  danger?: boolean;
  /** The other button; not "Cancel" where the action itself cancels something. */
  dismiss?: string;
  /** The text that must be typed to confirm: the number, or the name. */
  type?: string;
  /** False when no request is sent. */
  acts?: boolean;
  /** False while the effect is unknown, or there would be none. */
  ready?: boolean;
  children?: ReactNode;
}

/** A confirmation dialog that names the effect. */
export function Confirm({
  open,
  onClose,
  onConfirm,
  title,
  action,
  danger,
  dismiss,
  type,
  acts,
  ready,
  children,
}: ConfirmProps) {
  return (
    <Modal open={open} onClose={onClose} title={title}>
      <Body key={String(open)} {...{ onClose, onConfirm, action, danger, dismiss, type, acts, ready }}>
        {children}
      </Body>
    </Modal>
  );
}

function Body({
  onClose,
  onConfirm,
  action,
  danger,
  dismiss = "Cancel",
  type,
  acts = true,
  ready: known = true,
  children,
}: Omit<ConfirmProps, "open" | "title">) {
  const [typed, setTyped] = useState("");
  const [busy, setBusy] = useState(false);
  const ready = known && (type === undefined || typed.trim() === type);
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        if (!ready) return;
        setBusy(true);
        void Promise.resolve(onConfirm())
          .then(onClose)
          .catch(() => undefined)
          .finally(() => setBusy(false));
      }}
    >
      {children ? <div className="text-sm text-muted">{children}</div> : null}
      {type !== undefined ? (
        <label className="flex flex-col gap-1 text-sm">
          <span>
            Type <code className="font-mono">{type}</code> to confirm
          </span>
          <input
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
            autoComplete="off"
            className="h-8 rounded border bg-bg px-2 font-mono"
          />
        </label>
      ) : null}
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>{dismiss}</Button>
        <Button type="submit" kind={danger ? "danger" : "primary"} disabled={!ready} busy={busy} acts={acts}>
          {action}
        </Button>
      </div>
    </form>
  );
}

/** A dialog: title, content, Escape and a press outside close it. */
export function Modal({
  open,
  onClose,
  title,
  wide,
  children,
}: {
  open: boolean;
  onClose: () => void;
  title: string;
  wide?: boolean;
  children: ReactNode;
}) {
  const before = useRef<Element | null>(null);
  return (
    <Dialog.Root open={open} onOpenChange={(now) => (now ? undefined : onClose())}>
      <Dialog.Portal>
        <Dialog.Overlay className="fixed inset-0 z-40 bg-veil" />
        <Dialog.Content
          aria-describedby={undefined}
          onOpenAutoFocus={() => {
            before.current = document.activeElement;
          }}
          onCloseAutoFocus={(event) => {
            event.preventDefault();
            // Focus returns to the button that opened the dialog, or to the page when that is gone.
            const back = before.current?.isConnected ? before.current : document.getElementById("main");
            (back as HTMLElement | null)?.focus({ preventScroll: true });
          }}
          className={`fixed top-[12vh] left-1/2 z-50 flex max-h-[80vh] w-[calc(100vw-32px)] -translate-x-1/2 animate-appear flex-col gap-3 overflow-auto rounded-lg bg-raised p-5 shadow-overlay outline-none ${
            wide ? "max-w-3xl" : "max-w-md"
          }`}
        >
          <Dialog.Title className="text-lg font-semibold">{title}</Dialog.Title>
          {children}
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
