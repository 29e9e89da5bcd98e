import './chart.css';
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type uPlot from 'uplot';
import { tryAction } from '../../state/actions.js';
import { isPrinting, PRINT_WIDTH, shade } from '../../state/appearance.js';
import { copyCells } from '../../state/files.js';
import { getParameter, navigate, setParameters } from '../../state/location.js';
import { addNote, listNotes, type Note, pinPart, removeNote } from '../../state/saved.js';
import { isDate } from '../../words/dates.js';
import { formatChange, formatPoints, getSignClass } from '../../words/numbers.js';
import { Button, Icon, Popover } from '../controls/button.js';
import { Choice } from '../controls/choice.js';
import { Menu } from '../controls/menu.js';
import { getPartName, useWidth } from '../layout/page.js';
import type { ChartContent } from './chart-file.js';
import { type ShadedPeriod, createPlot, emphasiseLine, type DayRemark, markAt, type PlotOptions } from './plot.js';
import {
  formatValueAt,
  getColour,
  getSwatchWidth,
  isWide,
  limitToRange,
  type Line,
  listLineCells,
  listSpreadPositions,
  type Mark,
  NUMBER_UNIT,
  type ValueRange,
  toSeconds,
  type NumberFormat,
} from './series.js';

interface BrushProps {
  readonly label: string;
  readonly dates: readonly string[];
  /** Line to draw. */
  readonly line: Line | undefined;
  /** Positions of the first and last visible date. */
  readonly first: number;
  readonly last: number;
  onRange(range: ValueRange | null): void;
}

const HEIGHT = 36;
/** Number of sessions by which an arrow key moves an edge, without and with the control key. */
const KEY_STEP = 21;
const LONG_STEP = 252;
/** Minimum number of sessions of a range. */
const SESSIONS_MIN = 5;

type BrushPart = 'from' | 'to' | 'both';

/** Renders the full history of a line, with the range that the chart shows. The range and its edges can be dragged. */
function Brush({ label, dates, line, first, last, onRange }: BrushProps) {
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
      class="raised brush-edge"
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

interface ChartMenuProps {
  readonly label: string;
  /** Returns the chart as it is drawn now; null before it is drawn. */
  drawn(): ChartContent | null;
}

/**
 * Renders a menu that saves a chart as an image, copies the values of the visible range, or adds the chart to the
 * dashboard.
 */
function ChartMenu({ label, drawn }: ChartMenuProps) {
  const save = (format: 'png' | 'svg') =>
    tryAction(async () => {
      const chart = drawn();
      if (chart !== null) await (await import('./chart-file.js')).saveChart(chart, format);
    });
  const copy = () => {
    const chart = drawn();
    if (chart !== null) void copyCells(listLineCells(chart));
  };
  return (
    <Menu label={`Save, copy or pin: ${label}`} title={<Icon name="more" />} kind="bare">
      <li>
        <button type="button" onClick={copy}>
          Copy values
        </button>
      </li>
      <li>
        <button type="button" onClick={() => void save('png')}>
          PNG picture
        </button>
      </li>
      <li>
        <button type="button" onClick={() => void save('svg')}>
          SVG picture
        </button>
      </li>
      <li>
        <button type="button" onClick={() => pinPart(getPartName(label), 2)}>
          Pin to the dashboard
        </button>
      </li>
    </Menu>
  );
}

interface ChartTableProps {
  readonly label: string;
  readonly dates: readonly string[];
  readonly lines: readonly Line[];
  readonly from: number;
  readonly to: number;
  readonly unit: NumberFormat;
}

/** Maximum number of rows in the table that describes the chart to screen readers. The arrow keys read every value. */
const ROWS_MAX = 25;

function ChartTable({ label, dates, lines, from, to, unit }: ChartTableProps) {
  const rows = listSpreadPositions(to - from + 1, ROWS_MAX).map((t) => from + t);
  return (
    <div class="unseen">
      <table>
        <caption>
          {label}: {rows.length} of {to - from + 1} dates
        </caption>
        <thead>
          <tr>
            <th scope="col">Date</th>
            {lines.map(({ id, label: name }) => (
              <th key={id} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((t) => (
            <tr key={t}>
              <th scope="row">{dates[t]}</th>
              {lines.map(({ id, values }) => (
                <td key={id}>{formatValueAt(values, t, unit)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface LegendProps {
  readonly dates: readonly string[];
  readonly at: number;
  readonly lines: readonly Line[];
  readonly unit: NumberFormat;
  readonly mark: Mark | undefined;
  /** Meaning of the marks on the axis. */
  readonly marksAre?: string | undefined;
  /** Reports the line whose label is under the pointer; null if there is none. */
  onPoint(id: string | null): void;
}

/** Renders the label of each colour and the value of each line at the cursor. */
function Legend({ dates, at, lines, unit, mark, marksAre, onPoint }: LegendProps) {
  return (
    <div class="wrap small second legend">
      <span class="legend-date">{dates[at]}</span>
      {lines.map(({ id, label, colour, values, isDashed, isBars, width }) => (
        <span
          key={id}
          class="inline-line legend-line"
          onPointerEnter={() => onPoint(id)}
          onPointerLeave={() => onPoint(null)}
        >
          <Swatch {...{ colour, isDashed, width }} />
          {label}{' '}
          <span class="number">
            {isBars === true ? formatLastBar(values, { at, dates, unit }) : formatValueAt(values, at, unit)}
          </span>
        </span>
      ))}
      {marksAre !== undefined && <MarkLegend text={marksAre} />}
      {mark !== undefined && <a href={mark.address}>{mark.label}</a>}
    </div>
  );
}

interface BarPlace {
  readonly at: number;
  readonly dates: readonly string[];
  readonly unit: NumberFormat;
}

/** Formats the last bar on or before a date. If it is earlier, its date is added. */
function formatLastBar(values: Line['values'], { at, dates, unit }: BarPlace): string {
  const last = values.findLastIndex((value, t) => t <= at && value !== null);
  const text = formatValueAt(values, last, unit);
  return last < 0 || last === at ? text : `${text} on ${dates[last]}`;
}

interface SwatchProps {
  readonly colour: number;
  readonly isDashed: boolean | undefined;
  readonly width: number | undefined;
}

/** Renders the key of a line: its colour, its dashes, and its width if it is wide. */
const Swatch = ({ colour, isDashed, width }: SwatchProps) => (
  <span
    class={isDashed === true ? 'swatch dashed' : 'swatch'}
    style={{ color: getColour(colour), borderTopWidth: `${getSwatchWidth(width)}px` }}
  />
);

/** Renders the meaning of the triangles on the date axis. */
const MarkLegend = ({ text }: { readonly text: string }) => (
  <span class="inline-line legend-line small mark-key">
    <span aria-hidden="true">▲</span> {text}
  </span>
);

interface CursorTableProps {
  readonly label: string;
  readonly dates: readonly string[];
  readonly lines: readonly Line[];
  /** Positions of the cursor and of the date from which changes are measured. */
  readonly at: number;
  readonly from: number;
  readonly unit: NumberFormat;
  readonly hasReference: boolean;
  /** Removes a removable line. */
  readonly onRemove?: ((id: string) => void) | undefined;
}

/**
 * Renders a table of the values at the cursor and their changes since a date. It also shows by how much each change
 * differs from the change of the reference line, if there is one. Default reference: the first line.
 */
function CursorTable({ label, dates, lines, at, from, unit, hasReference, onRemove }: CursorTableProps) {
  const changes = lines.map(({ values }) => computeChange(values, from, at));
  const base = Math.max(
    0,
    lines.findIndex(({ reference }) => reference !== undefined),
  );
  const name = lines[base]?.reference ?? lines[base]?.label.split(',')[0];
  const hasDifference = hasReference && lines.length > 1;
  const basis = findSharedBasis(lines);
  return (
    <div class="cursor-table">
      <table aria-label={`${label} at the cursor`}>
        <thead>
          <tr>
            <th scope="col">
              {dates[at]}
              {basis}
            </th>
            <th scope="col">Rebased to 100</th>
            <th scope="col">
              Since <span class="one-line">{dates[from]}</span>
            </th>
            {hasDifference && <th scope="col">Minus {name}</th>}
          </tr>
        </thead>
        <tbody>
          {lines.map(({ id, label: lineLabel, values, colour, isDashed, width, isRemovable }, k) => (
            <tr key={id}>
              <th scope="row" title={lineLabel}>
                <span class="cursor-name">
                  <Swatch {...{ colour, isDashed, width }} />
                  <span>{lineLabel.slice(0, lineLabel.length - basis.length)}</span>
                  {isRemovable === true && onRemove !== undefined && (
                    <Button kind="bare" aria-label={`Remove ${id}`} title={`Remove ${id}`} onClick={() => onRemove(id)}>
                      <Icon name="close" />
                    </Button>
                  )}
                </span>
              </th>
              <td>{formatValueAt(values, at, unit)}</td>
              <td class={getSignClass(changes[k])}>{formatChange(changes[k])}</td>
              {hasDifference && <td>{k === base ? '' : renderDifference(changes[k], changes[base])}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/**
 * Returns the end of the labels that all lines share, for example `, total return`. It is stated once next to the date.
 * Returns an empty text if the labels end differently.
 */
function findSharedBasis(lines: readonly Line[]): string {
  const basis = /, [^,]+$/.exec(lines[0]?.label ?? '')?.[0] ?? '';
  return lines.length > 1 && lines.every(({ label }) => label.endsWith(basis)) ? basis : '';
}

/** Returns the change of a line as a fraction; null if a value is missing or not positive. */
function computeChange(values: Line['values'], from: number, position: number): number | null {
  const [base, value] = [values[from] ?? null, values[position] ?? null];
  return base === null || value === null || base <= 0 ? null : value / base - 1;
}

/** Formats in percentage points how much two changes differ. */
function renderDifference(value: number | null | undefined, reference: number | null | undefined) {
  if (value == null || reference == null) return '–';
  return <span class={getSignClass(value - reference)}>{formatPoints(value - reference)}</span>;
}

interface NoteMenuProps {
  readonly subject: string;
  /** Day of the cursor, or the selected range. */
  readonly range: ValueRange;
}

/** Renders a menu of the user's notes on days and periods. The notes are stored in this browser. */
function NoteMenu({ subject, range }: NoteMenuProps) {
  const notes = listNotes(subject);
  return (
    <Popover label={`Notes on ${subject}`} title={<Icon name="edit" />} kind="bare">
      {() => (
        <>
          {notes.length > 0 && (
            <ul class="pile gap-1 note-list">
              {notes.map(({ id, from, to, text }) => (
                <li key={id}>
                  <span>
                    <span class="quiet number">{to === null ? from : `${from} to ${to}`}</span> {text}
                  </span>
                  <Button kind="bare" aria-label={`Delete the note ${text}`} onClick={() => removeNote(id)}>
                    <Icon name="close" />
                  </Button>
                </li>
              ))}
            </ul>
          )}
          <NoteForm subject={subject} range={range} />
        </>
      )}
    </Popover>
  );
}

const TEXT_MAX = 200;

function NoteForm({ subject, range }: NoteMenuProps) {
  const [text, setText] = useState('');
  const [from, setFrom] = useState(range.from);
  const [to, setTo] = useState(range.to === range.from ? '' : range.to);
  const problem = findPeriodProblem(from, to);
  const isRight = text.trim() !== '' && problem === null;
  return (
    <form
      class="pile gap-2"
      onSubmit={(event) => {
        event.preventDefault();
        if (!isRight) return;
        addNote({ subject, from, to: to === '' || to === from ? null : to, text: text.trim() });
        setText('');
      }}
    >
      <input
        class="control"
        aria-label="Note"
        placeholder="Note"
        maxLength={TEXT_MAX}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <span class="inline-line gap-1 range-dates">
        <input
          class="control date-input"
          aria-label="First day of the note"
          aria-invalid={!isDate(from)}
          value={from}
          onInput={(event) => setFrom(event.currentTarget.value)}
        />
        <span class="quiet">–</span>
        <input
          class="control date-input"
          aria-label="Last day of the note"
          aria-invalid={isDate(from) && problem !== null}
          placeholder="one day"
          value={to}
          onInput={(event) => setTo(event.currentTarget.value)}
        />
      </span>
      {problem !== null && (
        <p class="down" role="alert">
          {problem}
        </p>
      )}
      <Button type="submit" disabled={!isRight}>
        Add the note
      </Button>
      <p class="quiet">A period is shaded. Notes are kept in this browser.</p>
    </form>
  );
}

/** Returns why a note cannot have these days; null if it can. The last day is empty for a note on one day. */
function findPeriodProblem(from: string, to: string): string | null {
  const wrong = [from, to].find((date) => date !== '' && !isDate(date));
  if (wrong !== undefined) return `“${wrong}” is not a date such as 2024-03-15.`;
  if (from === '') return 'The note has no first day.';
  return to !== '' && to < from ? `The last day ${to} is before the first day ${from}.` : null;
}

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
  readonly range?: ValueRange | null;
  readonly onRange?: (range: ValueRange | null) => void;
  readonly marks?: readonly Mark[];
  /** Meaning of the marks, for the legend. If absent, the legend does not explain them. */
  readonly marksAre?: string;
  readonly sync?: string;
  /** Default: numbers with two decimals. */
  readonly unit?: NumberFormat;
  /** Date whose values are shown if there is no cursor. Default: the last date. */
  readonly restAt?: string;
  readonly bands?: readonly ShadedPeriod[];
  /** Dates with a label. Each is drawn as a line with its label. */
  readonly flags?: readonly DayRemark[];
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
const NO_BANDS: readonly ShadedPeriod[] = [];
const NO_FLAGS: readonly DayRemark[] = [];
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
    <figure class="stack gap-1 chart" data-part={getPartName(label)}>
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
  readonly unit: NumberFormat;
  readonly at: number;
  readonly from: number;
  readonly mark: Mark | undefined;
  /** Notes at the cursor. They are in one line whose height is reserved, so that the chart does not move. */
  readonly notes: readonly Note[];
  /** True if the chart has notes at any date. */
  readonly hasNotes: boolean;
  /** Day or period of a new note. */
  readonly noteRange: ValueRange;
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
    <figcaption class="gap-2 chart-head">
      <div class="pile chart-values">
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
          <p class="gap-3 small one-line chart-remarks">
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
        ...days.map(({ from, text }): DayRemark => ({ date: from, label: text })),
      ],
    };
  }, [key, bands, flags]);
}

const NO_NOTES: readonly Note[] = [];

/** Returns the notes about a day, and about periods that contain the day. */
const listNotesAt = (notes: readonly Note[], date: string): readonly Note[] =>
  notes.filter(({ from, to }) => (to === null ? from === date : from <= date && date <= to));

function findNoteRange(dates: readonly string[], a: number, b: number): ValueRange {
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

function createRange(dates: readonly string[], a: number, b: number): ValueRange {
  return { from: dates[Math.min(a, b)]!, to: dates[Math.max(a, b)]! };
}

interface CursorValuesProps {
  readonly date: string | undefined;
  /** Position of the cursor; null if there is none. */
  readonly at: number | null;
  readonly lines: readonly Line[];
  readonly unit: NumberFormat;
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

const SCALES = [
  { value: 'linear', text: 'Linear' },
  {
    value: 'log',
    text: 'Log',
    help: 'Chosen automatically where the largest value is more than five times the smallest',
  },
] as const;

/** Returns true if the scale in the address is logarithmic. Default: the scale that suits the range of the lines. */
export function isLogarithmic(lines: readonly Line[], first: number, last: number): boolean {
  const chosenScale = getParameter('scale');
  return chosenScale === 'log' || (chosenScale !== 'linear' && isWide(lines, first, last));
}

export function ScaleChoice({ isLog }: { readonly isLog: boolean }) {
  return (
    <Choice
      label="Scale"
      options={SCALES}
      value={isLog ? 'log' : 'linear'}
      onChoose={(scale) => setParameters({ scale })}
    />
  );
}
