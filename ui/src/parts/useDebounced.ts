import { useEffect, useState } from "react";

/** The value, once it has not changed for a while. */
export function useDebounced<T>(value: T, milliseconds = 400): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = window.setTimeout(() => setSettled(value), milliseconds);
    return () => window.clearTimeout(timer);
  }, [value, milliseconds]);
  return settled;
}
