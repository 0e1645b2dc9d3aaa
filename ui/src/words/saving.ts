/** Lets the browser save a text as a file. */
export function saveText(text: string, name: string, type = "application/json"): void {
  const address = URL.createObjectURL(new Blob([text], { type }));
  saveFrom(address, name);
  window.setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** The same of what an address answers, however much that is: it goes to the disk as it comes. */
export function saveFrom(address: string, name: string): void {
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
}
