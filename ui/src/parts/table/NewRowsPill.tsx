import { number } from "@/time/moment";

/** "▲ 12 new": new rows are shown on a press, so that nothing moves under the pointer. */
export function NewRowsPill({ count, onShow }: { count: number; onShow?: () => void }) {
  return (
    <div aria-live="polite" className="pointer-events-none absolute inset-x-0 top-9 z-20 flex justify-center">
      {count > 0 ? (
        <button
          type="button"
          onClick={onShow}
          className="pointer-events-auto animate-appear rounded-full bg-accent px-3 py-1 text-xs font-medium text-on-accent shadow-overlay"
        >
          ▲ {count >= 50 ? "50+" : number(count)} new
        </button>
      ) : null}
    </div>
  );
}
