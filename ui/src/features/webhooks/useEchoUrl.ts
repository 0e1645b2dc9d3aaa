import { useSession } from "@/api/session";

/** The address of the server's echo receiver, which answers with what it was sent; null where it is switched off. */
export function useEchoUrl(): string | null {
  const session = useSession();
  return session?.features?.echo ? `${window.location.origin}/api/echo/hello` : null;
}
