import { Modal } from "@/parts/Confirm";
import { SignIn } from "@/parts/SignIn";

/** The token ended while somebody read: the page stays as it is below, and goes on after signing in again. */
export function SignedOut() {
  return (
    <Modal open onClose={() => undefined} title="Your session has ended">
      <p className="text-sm text-muted">Sign in again to go on where you are. Nothing on this page is lost.</p>
      <SignIn onDone={() => undefined} />
    </Modal>
  );
}
