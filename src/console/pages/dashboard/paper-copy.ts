/**
 * Prints a copy of the part in a frame instead of the frame: a frame is not split between pages, and its height is
 * that of the part on the screen.
 * @param paper empty element after the frame, which is visible only in print
 * @returns a function that stops this
 */
export function printPartOf(frame: HTMLIFrameElement, paper: HTMLElement): () => void {
  // A frame of an unreachable service has no document that this page may use.
  const notify = (type: string) => {
    if (frame.contentDocument !== null) frame.contentWindow?.dispatchEvent(new Event(type));
  };
  const start = () => {
    notify('beforeprint');
    // The charts of the frame draw themselves in earlier microtasks.
    queueMicrotask(() => {
      const part = frame.contentDocument?.querySelector('[data-way=end]');
      if (part != null) paper.replaceChildren(copyElement(part));
    });
  };
  const stop = () => {
    paper.replaceChildren();
    notify('afterprint');
  };
  addEventListener('beforeprint', start);
  addEventListener('afterprint', stop);
  return () => {
    removeEventListener('beforeprint', start);
    removeEventListener('afterprint', stop);
  };
}

/** Copies an element with the drawings of its canvases. */
function copyElement(element: Element): Element {
  const copy = document.importNode(element, true);
  const canvases = element.querySelectorAll('canvas');
  for (const [k, canvas] of copy.querySelectorAll('canvas').entries()) {
    const drawing = canvases[k]!; // the copy has the same elements
    if (drawing.width > 0 && drawing.height > 0) canvas.getContext('2d')?.drawImage(drawing, 0, 0);
  }
  return copy;
}
