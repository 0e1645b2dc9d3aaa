/** The foliot: a swinging bar with its two weights. */
export function Logo({ size = 20 }: { size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 32 32" aria-hidden>
      <rect width="32" height="32" rx="7" fill="var(--accent)" />
      <path
        d="M16 6v20M7 11h18M7 8v6M25 8v6"
        stroke="var(--on-accent)"
        strokeWidth="3"
        strokeLinecap="round"
        fill="none"
      />
    </svg>
  );
}
