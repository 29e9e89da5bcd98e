import { useMemo, useRef, useState } from 'preact/hooks';
import { useWidth } from '../use-width.js';
import { getColour, listSpreadPositions, type Line, type Range } from './series.js';

interface BrushProps {
  readonly label: string;
  readonly dates: readonly string[];
  /** Line to draw. */
  readonly line: Line | undefined;
  /** Positions of the first and last visible date. */
  readonly first: number;
  readonly last: number;
  onRange(range: Range | null): void;
}

const HEIGHT = 36;
/** Number of sessions by which an arrow key moves an edge, without and with the control key. */
const KEY_STEP = 21;
const LONG_STEP = 252;
/** Minimum number of sessions of a range. */
const SESSIONS_MIN = 5;

type BrushPart = 'from' | 'to' | 'both';

/** Renders the full history of a line, with the range that the chart shows. The range and its edges can be dragged. */
export function Brush({ label, dates, line, first, last, onRange }: BrushProps) {
  const frame = useRef<HTMLDivElement>(null);
  const width = useWidth(frame);
  const [dragged, setDragged] = useState<readonly [number, number] | null>(null);
  const [from, to] = dragged ?? [first, last];
  const path = useMemo(() => formatPath(line?.values ?? [], width), [line?.values, width]);
  const end = dates.length - 1;
  if (line === undefined || end < SESSIONS_MIN) return null;
  const computePosition = (position: number) => (position / end) * 100;
  const report = ([start, stop]: readonly [number, number]) =>
    onRange(start === 0 && stop === end ? null : { from: dates[start]!, to: dates[stop]! }); // both positions are within the dates

  const startDrag = (part: BrushPart) => (down: PointerEvent & { readonly currentTarget: Element }) => {
    const { currentTarget: handle, clientX: start } = down;
    handle.setPointerCapture(down.pointerId);
    let now: readonly [number, number] = [from, to];
    const move = ({ clientX }: Event & { readonly clientX?: number }) => {
      now = shiftRange([from, to], part, Math.round((((clientX ?? start) - start) / width) * end), end);
      setDragged(now);
    };
    handle.addEventListener('pointermove', move);
    handle.addEventListener(
      'lostpointercapture',
      () => {
        handle.removeEventListener('pointermove', move);
        setDragged(null);
        report(now);
      },
      { once: true },
    );
    down.preventDefault();
    down.stopPropagation();
  };
  const renderEdge = (part: 'from' | 'to', position: number) => (
    <span
      class="brush-edge"
      role="slider"
      tabIndex={0}
      aria-label={`${part === 'from' ? 'First' : 'Last'} date of ${label}`}
      aria-valuemin={0}
      aria-valuemax={end}
      aria-valuenow={position}
      aria-valuetext={dates[position]}
      style={{ left: `${computePosition(position)}%` }}
      onPointerDown={startDrag(part)}
      onKeyDown={(event) => {
        const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
        if (step === 0) return;
        event.preventDefault();
        report(shiftRange([from, to], part, step * (event.ctrlKey ? LONG_STEP : KEY_STEP), end));
      }}
    />
  );
  return (
    <div class="brush" ref={frame} onDblClick={() => onRange(null)}>
      <svg viewBox={`0 0 ${width} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        <path d={path} style={{ stroke: getColour(line.colour) }} />
      </svg>
      <span class="brush-veil" style={{ left: 0, width: `${computePosition(from)}%` }} />
      <span class="brush-veil" style={{ left: `${computePosition(to)}%`, right: 0 }} />
      <span
        class="brush-range"
        style={{ left: `${computePosition(from)}%`, width: `${computePosition(to) - computePosition(from)}%` }}
        onPointerDown={startDrag('both')}
      />
      {renderEdge('from', from)}
      {renderEdge('to', to)}
    </div>
  );
}

/** Moves a range, or one of its edges, by a number of positions. */
function shiftRange(
  [from, to]: readonly [number, number],
  part: BrushPart,
  by: number,
  end: number,
): readonly [number, number] {
  if (part === 'from') return [Math.max(0, Math.min(to - SESSIONS_MIN, from + by)), to];
  if (part === 'to') return [from, Math.min(end, Math.max(from + SESSIONS_MIN, to + by))];
  const shift = Math.max(-from, Math.min(end - to, by));
  return [from + shift, to + shift];
}

/** Returns the SVG path of a line for a width in pixels. The scale is logarithmic if all values are positive. */
function formatPath(values: readonly (number | null)[], width: number): string {
  const positions = listSpreadPositions(values.length, Math.max(2, Math.min(values.length, Math.round(width))));
  const isLog = values.every((value) => value === null || value > 0);
  const heights = positions.map((t) => {
    const value = values[t] ?? null;
    return value === null ? null : isLog ? Math.log(value) : value;
  });
  const knownHeights = heights.filter((value) => value !== null);
  const [least, most] = [Math.min(...knownHeights), Math.max(...knownHeights)];
  const scale = most > least ? (HEIGHT - 6) / (most - least) : 0;
  return heights
    .map((value, k) => [value, (k / Math.max(1, positions.length - 1)) * width] as const)
    .filter(([value]) => value !== null)
    .map(
      ([value, x], k) => `${k === 0 ? 'M' : 'L'}${x.toFixed(1)} ${(HEIGHT - 3 - (value! - least) * scale).toFixed(1)}`,
    )
    .join('');
}
