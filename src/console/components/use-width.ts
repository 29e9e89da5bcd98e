import { useLayoutEffect, useState } from 'preact/hooks';
import { isPrinting, PRINT_WIDTH } from '../state/printing.js';

/**
 * Returns the width of an element in pixels. Before the first layout, returns the width of the window. For printing,
 * returns at most the width of the printed text.
 */
export function useWidth(element: { readonly current: HTMLElement | null }): number {
  const [width, setWidth] = useState(innerWidth);
  useLayoutEffect(() => {
    const { current } = element;
    if (current === null) return undefined;
    setWidth(current.clientWidth);
    const observer = new ResizeObserver(() => setWidth(current.clientWidth));
    observer.observe(current);
    return () => observer.disconnect();
  }, []);
  return isPrinting.value ? Math.min(width, PRINT_WIDTH) : width;
}
