import { useRouter } from "@tanstack/react-router";
import type { AnchorHTMLAttributes, Ref } from "react";

/** A link inside the dashboard: a real `<a>`, so that it can be opened in a new tab and copied. */
export function Link({
  to,
  ref,
  onClick,
  ...rest
}: AnchorHTMLAttributes<HTMLAnchorElement> & { to: string; ref?: Ref<HTMLAnchorElement> }) {
  const router = useRouter();
  return (
    <a
      ref={ref}
      href={to}
      {...rest}
      onClick={(event) => {
        onClick?.(event);
        if (event.defaultPrevented || event.button !== 0) return;
        if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
        event.preventDefault();
        router.history.push(to);
      }}
    />
  );
}
