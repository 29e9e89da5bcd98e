import { useEffect, useRef, useState } from 'preact/hooks';
import { Button } from '../../components/controls/button.js';
import { RowsSkeleton, Wait } from '../../components/feedback.js';
import { useIntersection } from '../../components/layout/viewport.js';
import { useWidth } from '../../components/layout/page.js';
import { openPdf, type PdfDocument } from './pdf-document.js';

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
