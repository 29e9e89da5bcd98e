import type { Day } from '#domain/time/days.js';
import { cacheText, type FigureTexts } from './figure-texts.js';
import type { ExposureSide } from './sides.js';

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

export interface FiguresSize {
  /** Number of figures per date. */
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

/** Holdings on a date of a run. */
export interface HoldingsOnDate {
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
  make(date: HoldingsOnDate): void;
}

export interface ShownFigures {
  /** Positions of the shown dates in the run, in ascending order. */
  readonly positions: Int32Array;
  /** Days of the shown dates. */
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
    const date: HoldingsOnDate = {
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
