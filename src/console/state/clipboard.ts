import { countValues } from '../words/numbers.js';
import { formatTabSeparated, type Cells } from '../words/tabular.js';
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

/** Copies cells for a spreadsheet and shows the number of rows. */
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
