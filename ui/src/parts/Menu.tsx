import { DropdownMenu } from "radix-ui";
import type { ReactNode } from "react";

import { cx } from "./cx";

export interface MenuItem {
  label: ReactNode;
  onSelect: () => void;
  danger?: boolean;
  disabled?: boolean;
  checked?: boolean;
}

/** A button that opens a list of choices. */
export function Menu({
  trigger,
  items,
  align = "end",
}: {
  trigger: ReactNode;
  items: MenuItem[];
  align?: "start" | "end";
}) {
  return (
    <DropdownMenu.Root>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content
          align={align}
          sideOffset={4}
          className="z-50 max-h-[60vh] min-w-40 animate-appear overflow-auto rounded-lg bg-raised p-1 text-sm shadow-overlay"
        >
          {items.map((item, index) => (
            <DropdownMenu.Item
              key={index}
              disabled={item.disabled}
              onSelect={item.onSelect}
              className={cx(
                "flex cursor-pointer items-center gap-2 rounded-sm px-2 py-1.5 outline-none data-disabled:cursor-default data-disabled:opacity-50 data-highlighted:bg-accent-tint",
                item.danger && "text-failed-ink",
              )}
            >
              {item.checked !== undefined ? <span className="w-3 text-accent">{item.checked ? "✓" : ""}</span> : null}
              {item.label}
            </DropdownMenu.Item>
          ))}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}
