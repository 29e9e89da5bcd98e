import { useEffect, useRef, useState } from 'preact/hooks';
import { Button } from '../../components/controls/button.js';
import { RowsSkeleton, Wait } from '../../components/feedback.js';
import { useIntersection } from '../../components/layout/viewport.js';
import { useWidth } from '../../components/layout/page.js';
import {
  getDocument,
  PDFWorker,
  TextLayer,
  type PDFDocumentProxy,
  type PDFPageProxy,
} from 'pdfjs-dist/legacy/build/pdf.mjs';

/** Distance from the window within which pages are drawn, in per cent of its height. */
const NEAR_PERCENT = 100;

interface PdfPagesProps {
  readonly bytes: Uint8Array;
  readonly title: string;
}

/** Renders the pages of a PDF as pictures. The first page is drawn at once, others in the window or near it. */
export function PdfPages({ bytes, title }: PdfPagesProps) {
  const { pdf, failure } = usePdfDocument(bytes);
  const [current, setCurrent] = useState(1);
  const [isEnlarged, setEnlarged] = useState(false);
  const list = useRef<HTMLOListElement>(null);
  if (failure !== null)
    return (
      <p role="alert">This browser cannot draw the pages ({failure}). The buttons above open or download the report.</p>
    );
  if (pdf === null) return <Wait what="the pages" />;
  const { pageCount } = pdf;
  const scrollTo = (number: number) => list.current?.children[number - 1]?.scrollIntoView({ block: 'start' });
  return (
    <section class="pile frame gap-3 pdf" aria-label={`Pages of ${title}`}>
      <div class="line raised gap-2 pdf-bar">
        <span role="status">
          Page {current} of {pageCount}
        </span>
        {pageCount > 1 && (
          <>
            <Button kind="bare" disabled={current === 1} onClick={() => scrollTo(current - 1)}>
              Previous
            </Button>
            <Button kind="bare" disabled={current === pageCount} onClick={() => scrollTo(current + 1)}>
              Next
            </Button>
          </>
        )}
        <Button kind="bare" onClick={() => setEnlarged(!isEnlarged)}>
          {isEnlarged ? 'Fit to width' : 'Enlarge'}
        </Button>
      </div>
      <div class="pdf-scroll" data-enlarged={isEnlarged} tabIndex={0}>
        <ol ref={list}>
          {Array.from({ length: pageCount }, (_, k) => (
            <PdfPage key={k} pdf={pdf} number={k + 1} onCurrent={setCurrent} />
          ))}
        </ol>
      </div>
    </section>
  );
}

function usePdfDocument(bytes: Uint8Array): { readonly pdf: PdfDocument | null; readonly failure: string | null } {
  const [pdf, setPdf] = useState<PdfDocument | null>(null);
  const [failure, setFailure] = useState<string | null>(null);
  useEffect(() => {
    let isClosed = false;
    const opening = openPdf(bytes);
    opening.then(
      (opened) => isClosed || setPdf(opened),
      (thrown: unknown) => isClosed || setFailure(String(thrown)),
    );
    return () => {
      isClosed = true;
      opening.then(
        (opened) => opened.close(),
        () => undefined, // the failure is shown
      );
      setPdf(null);
    };
  }, [bytes]);
  return { pdf, failure };
}

interface PdfPageProps {
  readonly pdf: PdfDocument;
  /** Page number, from 1. */
  readonly number: number;
  /** Reports the page in the middle of the window. */
  readonly onCurrent: (number: number) => void;
}

function PdfPage({ pdf, number, onCurrent }: PdfPageProps) {
  const frame = useRef<HTMLLIElement>(null);
  const width = useWidth(frame);
  const isNear = useIntersection(frame, `${NEAR_PERCENT}%`);
  const isCurrent = useIntersection(frame, '-50%');
  const [state, setState] = useState<PageState>('waiting');
  const isShown = isNear || number === 1;
  const isAwaited = isShown && state === 'waiting';
  useEffect(() => {
    if (isCurrent) onCurrent(number);
  }, [isCurrent]);
  return (
    <li
      ref={frame}
      style={{ aspectRatio: `1 / ${pdf.ratio}` }}
      aria-label={`Page ${number} of ${pdf.pageCount}`}
      aria-busy={isAwaited}
    >
      {isShown && <PagePicture {...{ pdf, number, width, state }} onState={setState} />}
      {isAwaited && (
        <div class="pdf-wait">
          <RowsSkeleton />
        </div>
      )}
      {state === 'failed' && (
        <p role="alert" class="pdf-wait">
          This browser cannot draw page {number}. The buttons above open or download the report.
        </p>
      )}
    </li>
  );
}

type PageState = 'waiting' | 'drawn' | 'failed';

interface PagePictureProps extends Omit<PdfPageProps, 'onCurrent'> {
  readonly width: number;
  readonly state: PageState;
  readonly onState: (state: PageState) => void;
}

function PagePicture({ pdf, number, width, state, onState }: PagePictureProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const text = useRef<HTMLDivElement>(null);
  useEffect(() => () => onState('waiting'), []); // a removed picture is drawn again when its page is near the window
  useEffect(() => {
    const aborter = new AbortController();
    const { signal } = aborter;
    // Both elements are in the document when the effect runs.
    void pdf.drawPage({ number, width, canvas: canvas.current!, text: text.current!, signal }).then(
      () => signal.aborted || onState('drawn'),
      () => signal.aborted || onState('failed'),
    );
    return () => aborter.abort();
  }, [pdf, number, width]);
  return (
    <>
      <canvas ref={canvas} aria-hidden="true" data-drawn={state === 'drawn'} />
      <div class="pdf-text" ref={text} />
    </>
  );
}

/** Script of the worker, as a file of the console. The build does not bundle it again. */
const WORKER = new URL('pdfjs-dist/legacy/build/pdf.worker.min.mjs', import.meta.url);

/** Styles of the pages, as a file of the console. The style sheet of all pages does not contain them. */
const STYLES = new URL('pdf-pages.css', import.meta.url);

/** Maximum number of pixels of a picture. Phones draw no larger canvas. */
const PIXELS_MAX = 16_000_000;

interface PdfDocument {
  readonly pageCount: number;
  /** Height of the first page as a multiple of its width. */
  readonly ratio: number;
  drawPage(order: PageOrder): Promise<void>;
  /** Ends the worker. */
  close(): void;
}

interface PageOrder {
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
