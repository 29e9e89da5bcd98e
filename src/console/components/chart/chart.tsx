import type uPlot from 'uplot';
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { navigate } from '../../state/location.js';
import { isPrinting, PRINT_WIDTH } from '../../state/printing.js';
import { shade } from '../../state/theme.js';
import { listNotes, type Note } from '../../state/notes.js';
import { getPartName } from '../../state/part.js';
import { Brush } from './brush.js';
import type { ChartContent } from './chart-file.js';
import { ChartMenu } from './chart-menu.js';
import { ChartTable } from './chart-table.js';
import { CursorTable } from './cursor-table.js';
import { Legend, MarkLegend } from './legend.js';
import { NoteMenu } from './note-menu.js';
import type { Band, Flag } from './overlays.js';
import { createPlot, emphasiseLine, markAt, type PlotOptions } from './plot.js';
import {
  NUMBER_UNIT,
  toSeconds,
  formatValueAt,
  limitToRange,
  type Line,
  type Mark,
  type Range,
  type Unit,
} from './series.js';
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
  /** Meaning of the marks, for the legend. If absent, the legend does not explain them. */
  readonly marksAre?: string;
  readonly sync?: string;
  /** Default: numbers with two decimals. */
  readonly unit?: Unit;
  /** Date whose values are shown if there is no cursor. Default: the last date. */
  readonly restAt?: string;
  /** Shaded periods. */
  readonly bands?: readonly Band[];
  /** Dates with a label. Each is drawn as a line with its label. */
  readonly flags?: readonly Flag[];
  /** Subject under which notes of the user are stored. If absent, there are no notes. */
  readonly subject?: string;
  /** True if the full period is shown below the chart, so that the user can select a range. */
  readonly hasBrush?: boolean;
  /** True if a table shows the values at the cursor, how they changed, and how they differ. */
  readonly compares?: boolean;
  /** False if no line is a reference of the others. The table then has no differences. Default: true. */
  readonly hasReference?: boolean;
  /** Removes a line from the table at the cursor. Default: no line is removable. */
  readonly onRemoveLine?: (id: string) => void;
}

const NO_MARKS: readonly Mark[] = [];
const NO_BANDS: readonly Band[] = [];
const NO_FLAGS: readonly Flag[] = [];
const CHART_HEIGHT = 300;

/**
 * Renders lines over dates. Dragging selects a range, dragging with shift moves it, and a double click shows the full
 * period. On the keyboard, arrows move the cursor, shift with an arrow selects from the cursor, Enter applies the
 * selection or opens a mark, and Escape shows the full period.
 */
export function Chart(props: ChartProps) {
  const { label, dates, lines, height = CHART_HEIGHT, isLog = false, isStacked = false, hasZero = false } = props;
  const { range = null, onRange, marks = NO_MARKS, sync, unit = NUMBER_UNIT } = props;
  const { bands, flags, notes } = useOverlays(props);
  const [at, setAt] = useState<number | null>(null);
  const [anchor, setAnchor] = useState<number | null>(null);
  const pointedPosition = useRef<number | null>(null); // last date under the cursor
  const [first, last] = useMemo(() => limitToRange(dates, range), [dates, range?.from, range?.to]);
  const { into, plot, emphasise } = usePlot(
    { dates, lines, height, isLog, isStacked, hasZero, marks, bands, flags, sync, unit, onCursor: setAt },
    [first, last],
    onRange,
  );

  // The table is memoised. The cursor changes with every frame while the chart is dragged, but the table does not
  // depend on it.
  const table = useMemo(
    () => <ChartTable label={label} dates={dates} lines={lines} from={first} to={last} unit={unit} />,
    [label, dates, lines, first, last, unit],
  );
  const restPosition = props.restAt === undefined ? -1 : dates.indexOf(props.restAt);
  const index = at ?? (restPosition < 0 ? last : restPosition);
  if (at !== null) pointedPosition.current = at;
  const mark = marks.find(({ date }) => date === dates[index]);
  const onKeyDown = (event: KeyboardEvent) => {
    const next = moveCursor(event, { at: index, first, last });
    if (next !== undefined) {
      setAnchor(event.shiftKey ? (anchor ?? index) : null);
      setAt(next);
      placeCursor(plot.current, next);
    } else if (event.key === 'Enter' && anchor !== null) {
      onRange?.(createRange(dates, anchor, index));
      setAnchor(null);
    } else if (event.key === 'Enter' && mark !== undefined) navigate(mark.address);
    else if (event.key === 'Escape' && range !== null) onRange?.(null);
    else return;
    event.preventDefault();
  };
  const draw = () => plot.current && { label, plot: plot.current, dates, lines, unit, isLog, isStacked, first, last };
  return (
    <figure class="chart" data-part={getPartName(label)}>
      <ChartHead
        {...props}
        unit={unit}
        at={index}
        from={anchor ?? first}
        mark={mark}
        notes={listNotesAt(notes, dates[index] ?? '')}
        hasNotes={notes.length > 0}
        noteRange={findNoteRange(dates, anchor ?? pointedPosition.current ?? last, pointedPosition.current ?? last)}
        drawn={draw}
        onPoint={emphasise}
      />
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
        onClick={(event) => followMark(plot.current, marks, event)}
      />
      <CursorValues {...{ date: dates[index], at, lines, unit }} from={anchor === null ? undefined : dates[anchor]} />
      {props.hasBrush === true && onRange !== undefined && (
        <Brush label={label} dates={dates} line={lines[0]} first={first} last={last} onRange={onRange} />
      )}
      {table}
    </figure>
  );
}

/** Opens the mark at the clicked position. */
function followMark(plot: uPlot | null, marks: readonly Mark[], { clientX, clientY }: MouseEvent): void {
  const foundMark = plot && markAt(plot, marks, clientX - plot.rect.left);
  if (foundMark && clientY > plot.rect.bottom - 14) navigate(foundMark.address);
}

interface ChartHeadProps extends ChartProps {
  readonly unit: Unit;
  readonly at: number;
  readonly from: number;
  readonly mark: Mark | undefined;
  /** Notes at the cursor. They are in one line whose height is reserved, so that the chart does not move. */
  readonly notes: readonly Note[];
  /** True if the chart has notes at any date. */
  readonly hasNotes: boolean;
  /** Day or period of a new note. */
  readonly noteRange: Range;
  drawn(): ChartContent | null;
  onPoint(id: string | null): void;
}

/** Renders the legend with the values at the cursor, and the actions of the chart. */
function ChartHead(props: ChartHeadProps) {
  const { label, dates, lines, hasLegend = true, compares = false, unit, at, from, mark, notes, subject } = props;
  const marksAre = props.marks?.length ? props.marksAre : undefined;
  const hasMarkLegend = compares && marksAre !== undefined;
  if (!hasLegend) return null;
  return (
    <figcaption class="chart-head">
      <div class="chart-values">
        {compares ? (
          <CursorTable
            {...{ label, dates, lines, at, from, unit }}
            hasReference={props.hasReference ?? true}
            onRemove={props.onRemoveLine}
          />
        ) : (
          <Legend {...{ dates, at, lines, unit, mark, marksAre }} onPoint={props.onPoint} />
        )}
        {(props.hasNotes || hasMarkLegend) && (
          <p class="chart-remarks">
            {hasMarkLegend && <MarkLegend text={marksAre} />}
            {compares && mark !== undefined && <a href={mark.address}>{mark.label}</a>}
            {notes.map(({ id, text }) => (
              <span key={id} class="chart-note" title={text}>
                {text}
              </span>
            ))}
          </p>
        )}
      </div>
      {subject !== undefined && <NoteMenu subject={subject} range={props.noteRange} />}
      <ChartMenu label={label} drawn={props.drawn} />
    </figcaption>
  );
}

/** Returns the shaded periods and the flags of the chart, and those of the user's notes. */
function useOverlays({ subject, bands = NO_BANDS, flags = NO_FLAGS }: ChartProps) {
  const notes = subject === undefined ? NO_NOTES : listNotes(subject);
  const key = JSON.stringify(notes);
  return useMemo(() => {
    const periods = notes.flatMap(({ from, to, text }) => (to === null ? [] : [{ from, to, label: text }]));
    const days = notes.filter(({ to }) => to === null);
    return {
      notes,
      bands: [...bands, ...periods],
      flags: [
        ...flags.map((flag) => ({ ...flag, isWritten: true })),
        ...days.map(({ from, text }): Flag => ({ date: from, label: text })),
      ],
    };
  }, [key, bands, flags]);
}

const NO_NOTES: readonly Note[] = [];

/** Returns the notes about a day, and about periods that contain the day. */
const listNotesAt = (notes: readonly Note[], date: string): readonly Note[] =>
  notes.filter(({ from, to }) => (to === null ? from === date : from <= date && date <= to));

function findNoteRange(dates: readonly string[], a: number, b: number): Range {
  return { from: dates[Math.min(a, b)] ?? '', to: dates[Math.max(a, b)] ?? '' };
}

type ChartInput = Omit<PlotOptions, 'width' | 'onRange'>;

/** Draws the chart in the width of its container. Draws it again when its content or the theme changes. */
function usePlot(drawing: ChartInput, [first, last]: readonly [number, number], onRange: ChartProps['onRange']) {
  const { dates, lines, height, isLog, isStacked, marks, bands, flags } = drawing;
  const into = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const emphasisedId = useRef<string | null>(null); // also for the plot that replaces this one when the data changes
  const emphasise = (id: string | null) => {
    emphasisedId.current = id;
    if (plot.current !== null) emphasiseLine(plot.current, id);
  };
  const tell = useRef(onRange);
  tell.current = onRange;
  const theme = shade.value;
  // Bars in front of a line need no margin: the axis then has the dates of other charts of the page.
  const hasBars = lines.every(({ isBars }) => isBars);
  const printing = isPrinting.value;
  useLayoutEffect(() => {
    const { current } = into;
    if (current === null || dates.length === 0) return undefined;
    const width = printing ? PRINT_WIDTH : current.clientWidth;
    const newPlot = createPlot(current, { ...drawing, width, onRange: (chosen) => tell.current?.(chosen) });
    plot.current = newPlot;
    showRange(newPlot, dates, [first, last], hasBars);
    if (emphasisedId.current !== null) emphasise(emphasisedId.current);
    const observer = new ResizeObserver(() => newPlot.setSize({ width: current.clientWidth, height }));
    if (!printing) observer.observe(current);
    return () => {
      observer.disconnect();
      newPlot.destroy();
      plot.current = null;
    };
  }, [dates, lines, height, isLog, isStacked, marks, bands, flags, theme, printing]);
  useLayoutEffect(() => {
    if (plot.current !== null) showRange(plot.current, dates, [first, last], hasBars);
  }, [first, last]);
  return { into, plot, emphasise };
}

/** @param hasBars true if half of a bar must be visible beyond the first and the last date */
function showRange(
  plot: uPlot,
  dates: readonly string[],
  [first, last]: readonly [number, number],
  hasBars: boolean,
): void {
  if (last <= first) return;
  const [min, max] = [toSeconds(dates[first]!), toSeconds(dates[last]!)];
  const barMargin = hasBars ? (max - min) / (last - first) / 2 : 0;
  plot.setScale('x', { min: min - barMargin, max: max + barMargin });
}

/** Moves the cursor of the plot to a date. */
function placeCursor(plot: uPlot | null, position: number): void {
  const x = plot?.data[0][position];
  if (plot === null || x === undefined) return;
  plot.setCursor({ left: plot.valToPos(x, 'x'), top: 10 }, false);
}

interface CursorState {
  readonly at: number;
  readonly first: number;
  readonly last: number;
}

function moveCursor({ key, ctrlKey }: KeyboardEvent, { at, first, last }: CursorState): number | undefined {
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

function createRange(dates: readonly string[], a: number, b: number): Range {
  return { from: dates[Math.min(a, b)]!, to: dates[Math.max(a, b)]! };
}

interface CursorValuesProps {
  readonly date: string | undefined;
  /** Position of the cursor; null if there is none. */
  readonly at: number | null;
  readonly lines: readonly Line[];
  readonly unit: Unit;
  readonly from: string | undefined;
}

/** Renders the values at the cursor for screen readers. */
function CursorValues({ date, at, lines, unit, from }: CursorValuesProps) {
  const valuesText =
    at === null ? '' : lines.map(({ label, values: all }) => `${label} ${formatValueAt(all, at, unit)}`).join(', ');
  return (
    <p class="unseen" aria-live="polite">
      {at === null ? '' : `${from === undefined ? '' : `selected from ${from} to `}${date ?? ''}: ${valuesText}`}
    </p>
  );
}
