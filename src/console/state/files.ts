/** Time in milliseconds after which the object URL is revoked. The browser has started to read the file by then. */
const KEPT_MS = 60_000;

/** Returns the name of a file for a label, without its ending: `Overlap of weights` becomes `overlap-of-weights`. */
export const formatFileName = (label: string): string =>
  label
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');

/** Saves bytes as a download of the browser. */
export function saveFile(name: string, bytes: Uint8Array): void {
  const address = URL.createObjectURL(new Blob([bytes as Uint8Array<ArrayBuffer>])); // the client returns an ArrayBuffer that is not shared
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), KEPT_MS);
}
