import { signal } from '@preact/signals';
import { options } from 'preact';

/** True while the browser prints the page. */
export const isPrinting = signal(false);

/** Width of a table on an A4 page with its margins, without the frame of the table, in pixels. */
export const PRINT_WIDTH = 686;

/** Renders at once, because the browser lays out the page as soon as the print event ends. */
function setPrinting(is: boolean): void {
  const usual = options.debounceRendering;
  options.debounceRendering = (render) => render();
  isPrinting.value = is;
  if (usual === undefined) delete options.debounceRendering;
  else options.debounceRendering = usual;
}

export function startPrinting(): void {
  addEventListener('beforeprint', () => setPrinting(true));
  addEventListener('afterprint', () => setPrinting(false));
}
