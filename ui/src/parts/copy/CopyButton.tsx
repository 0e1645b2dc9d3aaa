import { Check, Copy } from "lucide-react";
import { useState } from "react";
import { toast } from "sonner";

import { Button } from "../Button";
import { copyText } from "./clipboard";

/** Copies a text and confirms it. Without a label it is an icon. */
export function CopyButton({ text, label, size }: { text: string; label?: string; size?: "small" | "normal" }) {
  const [done, setDone] = useState(false);
  return (
    <Button
      size={size}
      kind={label ? "plain" : "quiet"}
      aria-label={label ?? "Copy"}
      icon={done ? <Check size={14} aria-hidden /> : <Copy size={14} aria-hidden />}
      onClick={() => {
        void copyText(text).then((copied) => {
          if (!copied) {
            toast.error("The browser blocked copying. Select the text instead.");
            return;
          }
          setDone(true);
          window.setTimeout(() => setDone(false), 1200);
        });
      }}
    >
      {label}
    </Button>
  );
}
