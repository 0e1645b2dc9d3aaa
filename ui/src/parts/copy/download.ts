/** Lets the browser save a text as a file. */
export function downloadText(text: string, name: string, type = "application/json"): void {
  const address = URL.createObjectURL(new Blob([text], { type }));
  downloadUrl(address, name);
  window.setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** Lets the browser save what an address answers; it is streamed to the disk, not held in memory. */
export function downloadUrl(address: string, name: string): void {
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
}
