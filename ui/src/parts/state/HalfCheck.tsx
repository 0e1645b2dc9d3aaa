import type { SVGProps } from "react";

/** Half filled, with a check: finished in part. Lucide has no such icon. */
export function HalfCheck({ size = 16, ...rest }: SVGProps<SVGSVGElement> & { size?: number | string }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth={1.75}
      strokeLinecap="round"
      strokeLinejoin="round"
      {...rest}
    >
      <path d="M12 2a10 10 0 0 0 0 20Z" fill="currentColor" fillOpacity={0.35} stroke="none" />
      <circle cx="12" cy="12" r="10" />
      <path d="m8.5 12 2.5 2.5 4.5-5" />
    </svg>
  );
}
