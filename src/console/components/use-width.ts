import { useLayoutEffect, useState } from 'preact/hooks';
import { isPrinting, PRINT_WIDTH } from '../state/printing.js';

/** Width of an element as it is laid out, on paper at most that of its text; that of the page until then. */
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
