/** What stands for a credential that is kept sealed: it is sent back as it is, and keeps what was there. */
export const HIDDEN = "***";

const NAMES =
  /auth(?!or(?!i[sz]))|cookie|token|secret|passw|credential|bearer|jwt|(api|access|account|app|client|private|subscription)[-_]?key|^(x[-_])?(key|sig|signature|session|pass|pwd)$/i;
const TEMPLATE = /\{\{ *secret\.[A-Za-z_]\w{0,63} *\}\}/;
const SCHEME = /^(Bearer|Basic|Token|ApiKey|Bot)\s+/i;

export interface Movable {
  header: string;
  /** Empty when it is sealed already: nobody can read it, so it has to be written once more. */
  value: string;
  /** The word before the credential, with its blank. */
  scheme: string;
}

/** The headers, one per line, that hold a credential which could be a secret instead. */
export function movable(headers: string): Movable[] {
  return headers.split("\n").flatMap((line) => {
    const [header = "", ...rest] = line.split(":");
    const value = rest.join(":").trim();
    if (!value || !NAMES.test(header.trim()) || TEMPLATE.test(value)) return [];
    const scheme = value === HIDDEN ? "" : (SCHEME.exec(value)?.[0] ?? "");
    return [{ header: header.trim(), value: value === HIDDEN ? "" : value.slice(scheme.length), scheme }];
  });
}

/** The same headers, one of them naming a secret instead of holding it. */
export function moved(headers: string, header: string, scheme: string, secret: string): string {
  return headers
    .split("\n")
    .map((line) => (line.split(":")[0]?.trim() === header ? `${header}: ${scheme}{{ secret.${secret} }}` : line))
    .join("\n");
}

/** The host of a URL, as a secret is bound to it; empty when there is none yet. */
export function hostOf(url: string): string {
  try {
    return new URL(url).hostname;
  } catch {
    return "";
  }
}

/** A name for a secret that says what it is for. */
export const secretName = (host: string, header: string): string =>
  `${host}_${header}`
    .toUpperCase()
    .replace(/[^A-Z0-9]+/g, "_")
    .replace(/^(\d|_)/, "S_$1")
    .replace(/_$/, "")
    .slice(0, 64);
