import type { RunColumns } from '#domain/backtest/run-file/columns.js';
import { findLastAtMost } from '#domain/base/numbers.js';
import { Refusal } from '#domain/base/refusals.js';
import { type Day, formatDay } from '#domain/base/time.js';
import type { Book } from '#domain/books/book.js';
import { type JsonWriter, writeKnown, writeKnownWithin } from './json/writer.js';
import { openPanelRows } from './run-columns.js';

/** JSON text of a figure on contiguous dates: numbers separated by commas. */
interface FigureText {
  /** Position of the first date in the run; the next field is the position after the last date. */
  readonly first: number;
  readonly end: number;
  readonly bytes: Uint8Array;
  /** Offsets of the text of every `FIGURES_PER_MARK`th date. */
  readonly marks: Int32Array;
}

/** Cached texts by position of the figure. */
type FigureTexts = (FigureText | undefined)[];

/** Number of dates between two marks. Between marks, the text is searched for commas. */
const FIGURES_PER_MARK = 128;

/** Figure and first date that the values of an array belong to. */
interface TextLocation {
  readonly texts: FigureTexts;
  readonly figure: number;
  readonly first: number;
}

const locationsByValues = new WeakMap<Float64Array, TextLocation>();

/**
 * Marks values so that their text is cached as soon as they are written.
 * @returns the values
 */
function cacheText(values: Float64Array, location: TextLocation): Float64Array {
  locationsByValues.set(values, location);
  return values;
}

/**
 * Writes numbers in brackets; a missing value is null. Text that is cached is copied.
 * @throws Refusal NUMERIC_FAILURE
 */
export function writeFigure(json: JsonWriter, values: Float64Array): void {
  const location = locationsByValues.get(values);
  if (location === undefined) {
    writeKnown(json, values);
    return;
  }
  const { texts, figure, first } = location;
  const end = first + values.length;
  const figureText = texts[figure];
  json.raw('[');
  if (figureText !== undefined && figureText.first <= first && end <= figureText.end) {
    json.token(
      figureText.bytes.subarray(
        findOffset(figureText, first),
        end === figureText.end ? figureText.bytes.length : findOffset(figureText, end) - 1,
      ),
    );
  } else {
    const text = write(json, values, first);
    if (text !== null && (figureText === undefined || figureText.end - figureText.first <= values.length))
      texts[figure] = text;
  }
  json.raw(']');
}

function write(json: JsonWriter, values: Float64Array, first: number): FigureText | null {
  const begin = json.mark();
  const marks = new Int32Array(Math.ceil(values.length / FIGURES_PER_MARK));
  for (let m = 0; m < marks.length; m++) {
    if (m > 0) json.raw(',');
    marks[m] = json.mark() - begin;
    writeKnownWithin(json, values, m * FIGURES_PER_MARK, Math.min(values.length, (m + 1) * FIGURES_PER_MARK));
  }
  const bytes = json.written(begin, json.mark());
  return bytes && { first, end: first + values.length, marks, bytes };
}

const COMMA = 44;

function findOffset({ first, bytes, marks }: FigureText, date: number): number {
  const offset = date - first;
  let position = marks[Math.floor(offset / FIGURES_PER_MARK)]!;
  for (let commas = offset % FIGURES_PER_MARK; commas > 0; position++) if (bytes[position] === COMMA) commas--;
  return position;
}

/** Holdings of one side on the reported dates. */
export interface ExposureSide {
  readonly names: readonly string[];
  /** Starts to read the dates in order. The weights [names] of a date are valid until the next date is requested. */
  pass(): (k: number) => Float64Array;
}

export interface HoldingNames {
  readonly names: readonly string[];
  /**
   * Returns the holdings on the reported days.
   * @throws Refusal NO_COMMON_DATES if the benchmark lacks one of them
   */
  on(days: Int32Array): ExposureSide;
}

/**
 * Returns the holdings of the index of a run, or of a strategy.
 * @param positions positions of the reported dates in the run
 */
export function runSide(columns: RunColumns, positions: ArrayLike<number>): ExposureSide {
  const block = columns.header.has_index_weights ? 'indexWeights' : 'weights';
  const span = { from: positions[0]!, to: positions[positions.length - 1]! };
  return {
    names: columns.header.names,
    pass() {
      const rows = openPanelRows(columns, block, span);
      return (k) => rows.at(positions[k]!);
    },
  };
}

/**
 * Returns the holdings of a benchmark from its stored run, over its whole history.
 * @param order positions of the run's securities in the order of the benchmark
 */
export function openStoredHoldings(columns: RunColumns, order: Int32Array): HoldingNames {
  const names = Array.from(order, (position) => columns.header.names[position]!);
  const isOrdered = order.every((position, i) => position === i);
  return {
    names,
    on(days) {
      const runDays = columns.i32('days');
      const side = runSide(columns, findPositions(days, runDays, { from: 0, length: runDays.length }));
      if (isOrdered) return side;
      return {
        names,
        pass() {
          const readWeights = side.pass();
          const row = new Float64Array(order.length);
          return (k) => {
            const storedWeights = readWeights(k);
            for (let i = 0; i < row.length; i++) row[i] = storedWeights[order[i]!]!;
            return row;
          };
        },
      };
    },
  };
}

export function createBookHoldings({ sm, from, length, columns, weights }: Book): HoldingNames {
  const H = columns.length;
  const names = Array.from(columns, (column) => sm.identifiers[column]!);
  return {
    names,
    on(days) {
      const positions = findPositions(days, sm.sessions, { from, length });
      return { names, pass: () => (k) => weights.subarray(positions[k]! * H, (positions[k]! + 1) * H) };
    },
  };
}

/**
 * Returns the positions of days in the sessions of a benchmark.
 * @throws Refusal NO_COMMON_DATES if a day is missing
 */
function findPositions(
  days: Int32Array,
  sessions: Int32Array,
  { from, length }: { readonly from: number; readonly length: number },
): Int32Array {
  const positions = days.map((day) => findLastAtMost(sessions, day) - from);
  const missingPosition = positions.findIndex((position) => position < 0 || position >= length);
  if (missingPosition < 0) return positions;
  const coverageText = `${formatDay(sessions[from]!)} to ${formatDay(sessions[from + length - 1]!)}`;
  throw new Refusal(
    'NO_COMMON_DATES',
    `The benchmark covers ${coverageText} and has no holdings on ${formatDay(days[missingPosition]!)}. It must have holdings on every date of the window.`,
  );
}

/**
 * Figures on the dates of a run. They do not depend on a window. The figures of a date are computed when they are first
 * requested.
 */
export interface DatedFigures {
  /** Values figure by figure, [width x dates]. */
  readonly values: Float64Array;
  /** 1 if the figures of a date have been computed, [dates]. */
  readonly known: Uint8Array;
  /** JSON text of figures that were written before; null if text is not cached. */
  readonly texts: FigureTexts | null;
}

interface FiguresSize {
  readonly width: number;
  readonly dates: number;
  /** True if the JSON text of the figures is also cached. */
  readonly areWritten?: boolean;
}

/**
 * Function that returns the cached figures for a key of their inputs. Entries may be removed between two views, but not
 * during a view.
 */
export type FigureCache = (key: readonly unknown[], size: FiguresSize) => DatedFigures;

export function createFigures({ width, dates, areWritten = false }: FiguresSize): DatedFigures {
  return { values: new Float64Array(width * dates), known: new Uint8Array(dates), texts: areWritten ? [] : null };
}

/** Returns new figures without caching them. */
export const createUncached: FigureCache = (_what, size) => createFigures(size);

interface DatedHoldings {
  /** Position of the date in the run. */
  readonly at: number;
  readonly day: Day;
  /** Weights of the run's securities. They are valid until the next date. */
  readonly own: Float64Array;
  /** Weights of the benchmark's securities. Empty if there is no benchmark. */
  readonly benchmark: Float64Array;
}

/** Computation of figures, one date at a time. */
export interface FiguresMaker {
  readonly figures: DatedFigures;
  /** Computes the figures of a date and stores them at the position of the date. */
  make(date: DatedHoldings): void;
}

export interface ShownFigures {
  /** Positions of the shown dates in the run, in ascending order. */
  readonly positions: Int32Array;
  readonly days: Int32Array;
}

/**
 * Computes the figures that are missing.
 * @param onDate called before a date is computed; figures computed before an exception are kept
 * @cost one pass over the weights of the dates with missing figures
 */
export function completeFigures(
  makers: readonly FiguresMaker[],
  { own, benchmark }: { readonly own: ExposureSide; readonly benchmark: ExposureSide | null },
  { positions, days }: ShownFigures,
  onDate: () => void = () => {},
): void {
  const readOwnWeights = own.pass();
  const readBenchmarkWeights = benchmark?.pass() ?? returnNoValues;
  positions.forEach((position, k) => {
    const unknownMakers = makers.filter(({ figures }) => figures.known[position] === 0);
    if (unknownMakers.length === 0) return;
    onDate();
    const date: DatedHoldings = {
      at: position,
      day: days[k]!,
      own: readOwnWeights(k),
      benchmark: readBenchmarkWeights(k),
    };
    for (const { figures, make } of unknownMakers) {
      make(date);
      figures.known[position] = 1;
    }
  });
}

const NO_VALUES = new Float64Array(0);
const returnNoValues = (): Float64Array => NO_VALUES;

/** Returns a figure on the shown dates. If the dates are contiguous, nothing is copied. */
export function selectShownFigure(figures: DatedFigures, figure: number, { positions }: ShownFigures): Float64Array {
  const { values, known } = figures;
  const offset = figure * known.length;
  const [first, last] = [positions[0]!, positions.at(-1)!];
  if (last - first === positions.length - 1)
    return addFigureText(values.subarray(offset + first, offset + last + 1), figures, figure, positions);
  const pickedValues = new Float64Array(positions.length);
  for (let k = 0; k < pickedValues.length; k++) pickedValues[k] = values[offset + positions[k]!]!;
  return pickedValues;
}

/**
 * Connects the values of a figure with its cached text, if the dates are contiguous.
 * @param positions positions of the dates in the run
 */
export function addFigureText(
  values: Float64Array,
  { texts }: DatedFigures,
  figure: number,
  positions: Int32Array,
): Float64Array {
  const [first, last] = [positions[0]!, positions.at(-1)!];
  if (texts === null || last - first !== positions.length - 1) return values;
  return cacheText(values, { texts, figure, first });
}
