import { useEffect, useRef, useState } from 'preact/hooks';
import type { Range } from '../../components/chart/series.js';
import type { Pin } from '../../state/dashboard.js';
import { printPartOf } from './paper-copy.js';

/** Height in pixels before the content is loaded, and maximum height. Content that is higher scrolls. */
export const FIRST_HEIGHT = 220;
const HEIGHT_MAX = 640;
/** Time in ms after which a frame that shows an error page of the browser or of a proxy is loaded again. */
const RETRY_MS = 2000;

interface PinFrameProps {
  readonly one: Pin;
  /** Date range of all parts; null if each part has its own. */
  readonly range: Range | null;
  readonly height: number;
  /** True if the frame is loaded even if it is far outside the window. */
  readonly isEager: boolean;
  onLoad(): void;
  onHeight(height: number): void;
}

/** Renders the pinned part of its page in an iframe. The frame is as high as its content. */
export function PinFrame({ one, range, height, isEager, onLoad, onHeight }: PinFrameProps) {
  const frame = useRef<HTMLIFrameElement>(null);
  const paper = useRef<HTMLDivElement>(null);
  const [loads, setLoads] = useState(0);
  const [failures, setFailures] = useState(0);
  const [isShown, setShown] = useState(false);
  const address = formatFrameAddress(one, range);
  const source = useRef(address);
  // A loaded frame changes its address itself. It keeps its page, and the history gets no entry.
  if (loads === 0) source.current = address;
  useEffect(() => {
    const view = frame.current?.contentWindow;
    if (loads === 0 || view == null) return;
    view.history.replaceState(null, '', address);
    view.dispatchEvent(new PopStateEvent('popstate'));
  }, [address, loads]);
  useEffect(() => {
    if (failures === 0) return undefined;
    const timer = setTimeout(() => frame.current?.contentWindow?.location.replace(source.current), RETRY_MS);
    return () => clearTimeout(timer);
  }, [failures]);
  useEffect(() => printPartOf(frame.current!, paper.current!), []); // both are rendered
  useEffect(() => {
    const body = frame.current?.contentDocument?.getElementById('main');
    if (body == null) return undefined;
    const observer = new ResizeObserver(() => {
      if (body.scrollHeight === 0) return;
      onHeight(Math.min(HEIGHT_MAX, body.scrollHeight));
      // The page marks the part after it was rendered.
      setShown(body.querySelector('[data-way=end]') !== null);
    });
    observer.observe(body);
    return () => observer.disconnect();
  }, [loads]);
  return (
    <>
      <iframe
        ref={frame}
        class={loads > 0 ? '' : 'skeleton'}
        aria-busy={!isShown}
        title={`${one.part}, ${one.page}`}
        src={source.current}
        loading={isEager ? 'eager' : 'lazy'}
        style={{ height: `${height}px` }}
        onLoad={() => {
          if (isConsole(frame.current)) setLoads((before) => before + 1);
          else setFailures((before) => before + 1);
          onLoad();
        }}
      />
      <div class="dashboard-paper" ref={paper} />
    </>
  );
}

/** Returns true for a page of the console. The script of another page, such as that of an unreachable service, is closed to this one. */
const isConsole = (frame: HTMLIFrameElement | null): boolean => frame?.contentDocument?.getElementById('app') != null;

/** Returns the address of the page of a part, with the part and the date range. */
function formatFrameAddress({ address, part }: Pin, range: Range | null): string {
  const [path, text = ''] = address.split('?');
  const query = new URLSearchParams(text);
  query.set('part', part);
  if (range !== null) {
    query.set('from', range.from);
    query.set('to', range.to);
  }
  return `${path}?${query.toString()}`;
}
