import {
  getDocument,
  PDFWorker,
  TextLayer,
  type PDFDocumentProxy,
  type PDFPageProxy,
} from 'pdfjs-dist/legacy/build/pdf.mjs';

/** Script of the worker, as a file of the console. The build does not bundle it again. */
const WORKER = new URL('pdfjs-dist/legacy/build/pdf.worker.min.mjs', import.meta.url);

/** Styles of the pages, as a file of the console. The style sheet of all pages does not contain them. */
const STYLES = new URL('pdf-pages.css', import.meta.url);

/** Maximum number of pixels of a picture. Phones draw no larger canvas. */
const PIXELS_MAX = 16_000_000;

/** An opened PDF. */
export interface PdfDocument {
  readonly pageCount: number;
  /** Height of the first page as a multiple of its width. */
  readonly ratio: number;
  /** Draws a page. */
  drawPage(order: PageOrder): Promise<void>;
  /** Ends the worker. */
  close(): void;
}

export interface PageOrder {
  /** Page number, from 1. */
  readonly number: number;
  /** Width of the picture in CSS pixels. */
  readonly width: number;
  readonly canvas: HTMLCanvasElement;
  /** Element over the picture, for the text of the page. Default: the text is not laid out. */
  readonly text?: HTMLElement;
  readonly signal: AbortSignal;
}

/**
 * Opens a PDF in a separate worker.
 * @throws Error if the bytes are not a PDF, or the browser is too old
 */
export async function openPdf(bytes: Uint8Array): Promise<PdfDocument> {
  const port = new Worker(WORKER, { type: 'module' });
  const worker = PDFWorker.create({ port });
  // The worker takes ownership of its bytes. The content security policy allows neither `eval` nor WebAssembly.
  const task = getDocument({ data: bytes.slice(), worker, isEvalSupported: false, useWasm: false });
  const close = (): void => {
    void task.destroy();
    worker.destroy();
    port.terminate();
  };
  try {
    const [pdf] = await Promise.all([task.promise, loadStyles()]);
    const { width, height } = (await pdf.getPage(1)).getViewport({ scale: 1 });
    return { pageCount: pdf.numPages, ratio: height / width, drawPage: (order) => drawPage(pdf, order), close };
  } catch (failure) {
    close();
    throw failure;
  }
}

let stylesLoading: Promise<void> | undefined;

/** Adds the styles of the pages to the document, once. */
function loadStyles(): Promise<void> {
  stylesLoading ??= new Promise((resolve, reject) => {
    const link = document.createElement('link');
    link.rel = 'stylesheet';
    link.href = STYLES.href;
    link.addEventListener('load', () => resolve());
    link.addEventListener('error', () => reject(new Error('their styles are missing')));
    document.head.append(link);
  });
  return stylesLoading;
}

async function drawPage(pdf: PDFDocumentProxy, { number, width, canvas, text, signal }: PageOrder): Promise<void> {
  const page = await pdf.getPage(number);
  if (signal.aborted) return;
  const size = page.getViewport({ scale: 1 });
  const scale = width / size.width;
  await Promise.all([
    drawPicture(page, scale, canvas, signal),
    text === undefined ? undefined : layText(page, scale, text, signal),
  ]);
}

/** Draws the picture of a page with the pixels of the display. An earlier picture stays until the new one is complete. */
async function drawPicture(
  page: PDFPageProxy,
  scale: number,
  canvas: HTMLCanvasElement,
  signal: AbortSignal,
): Promise<void> {
  const { width, height } = page.getViewport({ scale });
  const density = Math.min(devicePixelRatio, Math.sqrt(PIXELS_MAX / (width * height)));
  const picture = document.createElement('canvas');
  picture.width = Math.round(width * density);
  picture.height = Math.round(height * density);
  const task = page.render({ canvas: picture, viewport: page.getViewport({ scale: scale * density }) });
  signal.addEventListener('abort', () => task.cancel());
  await task.promise.catch((failure: unknown) => {
    if (!signal.aborted) throw failure;
  });
  if (!signal.aborted) copyPicture(picture, canvas);
}

/** Replaces the content and the size of a canvas by those of a picture. */
function copyPicture(picture: HTMLCanvasElement, canvas: HTMLCanvasElement): void {
  canvas.width = picture.width;
  canvas.height = picture.height;
  canvas.getContext('2d')!.drawImage(picture, 0, 0); // browsers provide this context
}

/** Adds the text of a page, transparent, for selection and for screen readers. */
async function layText(page: PDFPageProxy, scale: number, container: HTMLElement, signal: AbortSignal): Promise<void> {
  container.replaceChildren();
  container.style.setProperty('--total-scale-factor', String(scale));
  const layer = new TextLayer({
    textContentSource: page.streamTextContent(),
    container,
    viewport: page.getViewport({ scale }),
  });
  signal.addEventListener('abort', () => layer.cancel());
  await layer.render().catch((failure: unknown) => {
    if (!signal.aborted) throw failure;
  });
}
