import { Modal } from "@/parts/Confirm";
import { Kbd } from "@/parts/Kbd";

import { PAGES, SHORTCUTS } from "./navigation";

/** All keys on one sheet. */
export default function Shortcuts({ open, onClose }: { open: boolean; onClose: () => void }) {
  return (
    <Modal open={open} onClose={onClose} title="Keyboard shortcuts" wide>
      <div className="gap-x-8 sm:columns-2">
        {[
          ...SHORTCUTS,
          ["Pages", PAGES.map((place) => [`g ${place.key}`, place.label] as [string, string])] as const,
        ].map(([heading, keys]) => (
          <section key={heading} className="mb-4 break-inside-avoid">
            <h3 className="mb-1 text-sm font-semibold">{heading}</h3>
            <dl className="grid grid-cols-[80px_1fr] gap-y-1">
              {keys.map(([key, what]) => (
                <div key={key} className="contents">
                  <dt>
                    <Kbd>{key}</Kbd>
                  </dt>
                  <dd className="text-muted">{what}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
      <p className="text-xs text-muted">Shortcuts are off while you type.</p>
    </Modal>
  );
}
