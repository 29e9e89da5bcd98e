import { useEffect, useRef, useState } from 'preact/hooks';
import { useIntersection } from '../../components/use-intersection.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { Thumbnail } from './thumbnail.js';

/** Width of a picture in CSS pixels, as in the style sheet. */
const WIDTH = 106;

/** Distance from the window within which pictures are drawn, in per cent of its height. */
const NEAR_PERCENT = 50;

/** Maximum number of pictures that are kept. Each has about 130 kB on a display with two pixels per CSS pixel. */
const PICTURES_MAX = 60;

/** Pictures that were requested, by report. */
const pictures = new Map<string, Promise<HTMLCanvasElement>>();

/** Ends when the last requested picture is drawn. Pictures are drawn one after the other, because each has a worker. */
let lastDrawing: Promise<unknown> = Promise.resolve();

interface FirstPageProps {
  /** Id of a finished report. */
  readonly id: string;
  /** Id of its template, whose outline is shown until the page is drawn, and if the browser cannot draw it. */
  readonly template: string;
}

/** Renders a small picture of the first page of a report. It is drawn when it is near the window. */
export function FirstPage({ id, template }: FirstPageProps) {
  const frame = useRef<HTMLSpanElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [state, setState] = useState<'waiting' | 'drawn' | 'failed'>('waiting');
  const isNear = useIntersection(frame, `${NEAR_PERCENT}%`);
  useEffect(() => {
    if (!isNear) return undefined;
    let isRemoved = false;
    readPicture(id).then(
      (picture) => {
        if (isRemoved) return;
        copyPicture(picture, canvas.current!); // the element is in the document until the component is removed
        setState('drawn');
      },
      () => isRemoved || setState('failed'),
    );
    return () => {
      isRemoved = true;
    };
  }, [id, isNear]);
  return (
    <span ref={frame} class="report-cover" data-state={state}>
      {state !== 'drawn' && <TemplateOutline id={template} />}
      <canvas ref={canvas} hidden={state !== 'drawn'} aria-hidden="true" />
    </span>
  );
}

/** Returns the picture of the first page of a report. */
function readPicture(id: string): Promise<HTMLCanvasElement> {
  const known = pictures.get(id);
  if (known !== undefined) return known;
  const drawing = lastDrawing.then(() => drawPicture(id));
  pictures.set(id, drawing);
  lastDrawing = drawing.catch(() => pictures.delete(id)); // the caller handles the error
  if (pictures.size > PICTURES_MAX) pictures.delete(pictures.keys().next().value!);
  return drawing;
}

async function drawPicture(id: string): Promise<HTMLCanvasElement> {
  const bytes = await service.value.call('getRender', { params: { render_id: id } });
  const { openPdf } = await import('./pdf-document.js');
  const pdf = await openPdf(bytes);
  try {
    const picture = document.createElement('canvas');
    await pdf.drawPage({ number: 1, width: WIDTH, canvas: picture, signal: new AbortController().signal });
    return picture;
  } finally {
    pdf.close();
  }
}

function copyPicture(picture: HTMLCanvasElement, canvas: HTMLCanvasElement): void {
  canvas.width = picture.width;
  canvas.height = picture.height;
  canvas.getContext('2d')!.drawImage(picture, 0, 0); // browsers provide this context
}

/** Renders the outline of a stored or built-in template. */
function TemplateOutline({ id }: { readonly id: string }) {
  const template = useResource(
    `built-in template ${id}`,
    (signal) => service.value.call('getTemplate', { params: { template_id: id }, signal }),
    { follows: false },
  );
  const { blocks = [], page } = template.data ?? {};
  return <Thumbnail blocks={blocks} page={page} />;
}
