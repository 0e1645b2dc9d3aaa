/** The secret that signs webhooks. Pure but for the random bytes. */

export const SIGNING = "webhook_signing";

/** A new signing secret in the form of Standard Webhooks: `whsec_` and 32 random bytes in base64. */
export function newSigningSecret(
  fill: (bytes: Uint8Array<ArrayBuffer>) => void = (bytes) => crypto.getRandomValues(bytes),
): string {
  const bytes = new Uint8Array(32);
  fill(bytes);
  return `whsec_${btoa(String.fromCharCode(...bytes))}`;
}
