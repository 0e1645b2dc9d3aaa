/** The placeholder of a sealed credential; sent back unchanged, it keeps the stored value. */
export const HIDDEN = "***";

const NAMES =
  /auth(?!or(?!i[sz]))|cookie|token|secret|passw|credential|bearer|jwt|(api|access|account|app|client|private|subscription)[-_]?key|^(x[-_])?(key|sig|signature|session|pass|pwd)$/i;
const TEMPLATE = /\{\{ *secret\.[A-Za-z_]\w{0,63} *\}\}/;
const SCHEME = /^(Bearer|Basic|Token|ApiKey|Bot)\s+/i;

export interface HeaderCredential {
  header: string;
  /** Empty when it is sealed: it cannot be read back and has to be entered again. */
  value: string;
  /** The authentication scheme before the credential, with its blank. */
  scheme: string;
}

/** The credentials in a text of headers that could be stored as secrets. */
export function credentialsIn(headers: string): HeaderCredential[] {
  return headers.split("\n").flatMap((line) => {
    const [header = "", ...rest] = line.split(":");
    const value = rest.join(":").trim();
    if (!value || !NAMES.test(header.trim()) || TEMPLATE.test(value)) return [];
    const scheme = value === HIDDEN ? "" : (SCHEME.exec(value)?.[0] ?? "");
    return [{ header: header.trim(), value: value === HIDDEN ? "" : value.slice(scheme.length), scheme }];
  });
}

/** The headers with one credential replaced by a reference to a secret. */
export function withSecret(headers: string, header: string, scheme: string, secret: string): string {
  return headers
    .split("\n")
    .map((line) => (line.split(":")[0]?.trim() === header ? `${header}: ${scheme}{{ secret.${secret} }}` : line))
    .join("\n");
}

/** The host of a URL, to which a secret is bound; empty when there is none yet. */
export function hostOf(url: string): string {
  try {
    return new URL(url).hostname;
  } catch {
    return "";
  }
}

/** A proposed name for the secret. */
export const secretName = (host: string, header: string): string =>
  `${host}_${header}`
    .toUpperCase()
    .replace(/[^A-Z0-9]+/g, "_")
    .replace(/^(\d|_)/, "S_$1")
    .replace(/_$/, "")
    .slice(0, 64);
