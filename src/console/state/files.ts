import { countValues } from '../words/numbers.js';
import { type Cells, formatTabSeparated } from '../words/tables.js';
import { showToast } from './toasts.js';

/**
 * Copies a text and shows a message.
 * @param what description of the text, such as `12 rows`
 */
export async function copyText(text: string, what: string): Promise<void> {
  const isCopied = (await writeText(text)) || copyByEvent(text);
  if (isCopied) showToast('good', `Copied ${what}.`);
  else showToast('bad', `The browser did not allow copying ${what}.`);
}

export const copyCells = (cells: Cells): Promise<void> =>
  copyText(formatTabSeparated(cells), countValues(cells.rows.length, 'row'));

/** Copies with the Clipboard API. Browsers allow it only for this machine and for HTTPS. */
async function writeText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

/** Copies with a copy event. All browsers allow it directly after a click. */
function copyByEvent(text: string): boolean {
  let isCopied = false;
  const onCopy = (event: ClipboardEvent) => {
    event.clipboardData?.setData('text/plain', text);
    event.preventDefault();
    event.stopImmediatePropagation();
    isCopied = true;
  };
  document.addEventListener('copy', onCopy, { capture: true });
  document.execCommand('copy');
  document.removeEventListener('copy', onCopy, { capture: true });
  return isCopied;
}

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
