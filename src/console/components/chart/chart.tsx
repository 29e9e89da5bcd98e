import type uPlot from 'uplot';
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { go } from '../../state/place.js';
import { isPrinting, PRINT_WIDTH } from '../../state/printing.js';
import { shade } from '../../state/theme.js';
import { ChartMenu } from './chart-menu.js';
import { ChartTable } from './chart-table.js';
import { Legend } from './legend.js';
import { createPlot, markAt } from './plot.js';
import { NUMBER, secondsOf, textAt, within, type Line, type Mark, type Range, type Unit } from './series.js';
import './chart.css';

export interface ChartProps {
  /** Description of the chart for screen readers. */
  readonly label: string;
  readonly dates: readonly string[];
  readonly lines: readonly Line[];
  readonly height?: number;
  readonly isLog?: boolean;
  readonly isStacked?: boolean;
  readonly hasZero?: boolean;
  readonly hasLegend?: boolean;
  readonly range?: Range | null;
  readonly onRange?: (range: Range | null) => void;
  readonly marks?: readonly Mark[];
  readonly sync?: string;
  /** Default: numbers with two decimals. */
  readonly unit?: Unit;
}

const NO_MARKS: readonly Mark[] = [];
const HEIGHT = 300;

/**
 * Lines over dates. A drag selects a range, with the shift key it moves the range, a double click shows all again. With the keyboard the
 * arrows move the cursor, with the shift key they select from where it was, Enter takes the selection or opens a mark, Escape shows all.
 */
export function Chart(props: ChartProps) {
  const { label, dates, lines, height = HEIGHT, isLog = false, isStacked = false, hasZero = false } = props;
  const { range = null, onRange, marks = NO_MARKS, sync, unit = NUMBER, hasLegend = true } = props;
  const into = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const [at, setAt] = useState<number | null>(null);
  const [anchor, setAnchor] = useState<number | null>(null);
  const tell = useRef(onRange);
  tell.current = onRange;
  const theme = shade.value;
  const printing = isPrinting.value;
  const [first, last] = useMemo(() => within(dates, range), [dates, range?.from, range?.to]);

  useLayoutEffect(() => {
    const { current } = into;
    if (current === null || dates.length === 0) return undefined;
    const made = createPlot(current, {
      width: printing ? PRINT_WIDTH : current.clientWidth,
      dates,
      lines,
      height,
      isLog,
      isStacked,
      hasZero,
      marks,
      sync,
      unit,
      onCursor: setAt,
      onRange: (chosen) => tell.current?.(chosen),
    });
    plot.current = made;
    show(made, dates, [first, last]);
    const observer = new ResizeObserver(() => made.setSize({ width: current.clientWidth, height }));
    if (!printing) observer.observe(current);
    return () => {
      observer.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [dates, lines, height, isLog, isStacked, marks, theme, printing]);
  useLayoutEffect(() => {
    if (plot.current !== null) show(plot.current, dates, [first, last]);
  }, [first, last]);

  // The cursor moves with every frame of a pan: the table is none of its business.
  const table = useMemo(
    () => <ChartTable label={label} dates={dates} lines={lines} from={first} to={last} unit={unit} />,
    [label, dates, lines, first, last, unit],
  );
  const shown = at ?? last;
  const mark = marks.find(({ date }) => date === dates[shown]);
  const onKeyDown = (event: KeyboardEvent) => {
    const next = moved(event, { at: shown, first, last });
    if (next !== undefined) {
      setAnchor(event.shiftKey ? (anchor ?? shown) : null);
      setAt(next);
      point(plot.current, next);
    } else if (event.key === 'Enter' && anchor !== null) {
      onRange?.(rangeBetween(dates, anchor, shown));
      setAnchor(null);
    } else if (event.key === 'Enter' && mark !== undefined) go(mark.address);
    else if (event.key === 'Escape' && range !== null) onRange?.(null);
    else return;
    event.preventDefault();
  };
  return (
    <figure class="chart">
      {hasLegend && (
        <figcaption class="chart-head">
          <Legend date={dates[shown]} at={shown} lines={lines} unit={unit} mark={mark} />
          <ChartMenu
            label={label}
            drawn={() =>
              plot.current && { label, plot: plot.current, dates, lines, unit, isLog, isStacked, first, last }
            }
          />
        </figcaption>
      )}
      <div
        class="chart-canvas"
        ref={into}
        tabIndex={0}
        role="application"
        aria-roledescription="chart"
        aria-label={`${label}. Arrow keys read values${onRange === undefined ? '' : '; with Shift they select a range, and Enter applies it'}.`}
        style={{ minHeight: `${height}px` }}
        onKeyDown={onKeyDown}
        onDblClick={() => onRange?.(null)}
        onClick={(event) => {
          const found = plot.current && markAt(plot.current, marks, event.clientX - plot.current.rect.left);
          const isLow = plot.current !== null && event.clientY > plot.current.rect.bottom - 14;
          if (found && isLow) go(found.address);
        }}
      />
      <p class="unseen" aria-live="polite">
        {at === null
          ? ''
          : spoken({ date: dates[shown], at: shown, lines, unit, from: anchor === null ? undefined : dates[anchor] })}
      </p>
      {table}
    </figure>
  );
}

function show(plot: uPlot, dates: readonly string[], [first, last]: readonly [number, number]): void {
  if (last <= first) return;
  plot.setScale('x', { min: secondsOf(dates[first]!), max: secondsOf(dates[last]!) });
}

/** Puts the cursor of the plot on a date. */
function point(plot: uPlot | null, at: number): void {
  const x = plot?.data[0][at];
  if (plot === null || x === undefined) return;
  plot.setCursor({ left: plot.valToPos(x, 'x'), top: 10 }, false);
}

interface Cursor {
  readonly at: number;
  readonly first: number;
  readonly last: number;
}

function moved({ key, ctrlKey }: KeyboardEvent, { at, first, last }: Cursor): number | undefined {
  const step = ctrlKey ? 21 : 1;
  const steps: Readonly<Record<string, number>> = {
    ArrowRight: at + step,
    ArrowLeft: at - step,
    PageUp: at - 63,
    PageDown: at + 63,
    Home: first,
    End: last,
  };
  const next = steps[key];
  return next === undefined ? undefined : Math.max(first, Math.min(last, next));
}

function rangeBetween(dates: readonly string[], a: number, b: number): Range {
  return { from: dates[Math.min(a, b)]!, to: dates[Math.max(a, b)]! };
}

interface Said {
  readonly date: string | undefined;
  readonly at: number;
  readonly lines: readonly Line[];
  readonly unit: Unit;
  readonly from: string | undefined;
}

function spoken({ date, at, lines, unit, from }: Said): string {
  const values = lines.map(({ label, values: all }) => `${label} ${textAt(all, at, unit)}`).join(', ');
  return `${from === undefined ? '' : `selected from ${from} to `}${date ?? ''}: ${values}`;
}
