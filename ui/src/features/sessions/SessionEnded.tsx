import { Modal } from "@/parts/Confirm";

import { SignIn } from "./SignIn";

/** Shown over the page when the session ends; the page keeps its state and continues after signing in again. */
export function SessionEnded() {
  return (
    <Modal open onClose={() => undefined} title="Your session has ended">
      <p className="text-sm text-muted">Sign in again to continue. Nothing on this page is lost.</p>
      <SignIn onDone={() => undefined} />
    </Modal>
  );
}
