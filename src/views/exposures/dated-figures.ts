import type { Day } from '#domain/time/days.js';
import { cacheText, type FigureTexts } from './figure-texts.js';
import type { ExposureSide } from './sides.js';

/** Figures of the dates of a run, which depend on no window. Each date is computed when it is first requested. */
export interface DatedFigures {
  /** Values figure by figure, [width x dates]. */
  readonly values: Float64Array;
  /** 1 if the figures of a date are computed, [dates]. */
  readonly known: Uint8Array;
  /** Texts of figures that were written; null if they are not cached. */
  readonly texts: FigureTexts | null;
}

export interface FiguresSize {
  /** Number of figures per date. */
  readonly width: number;
  readonly dates: number;
  /** True if their texts are cached too. */
  readonly areWritten?: boolean;
}

/** Caches figures of a run by the key of their inputs. Entries may be evicted between views, but not within one. */
export type KeepFigures = (what: readonly unknown[], size: FiguresSize) => DatedFigures;

export function createFigures({ width, dates, areWritten = false }: FiguresSize): DatedFigures {
  return { values: new Float64Array(width * dates), known: new Uint8Array(dates), texts: areWritten ? [] : null };
}

/** Keeps nothing. */
export const unkept: KeepFigures = (_what, size) => createFigures(size);

/** Date of a run with its holdings. */
export interface HeldOn {
  /** Position in the dates of the run. */
  readonly at: number;
  readonly day: Day;
  /** Weights of the run's names; valid until the next date. */
  readonly own: Float64Array;
  /** Weights of the benchmark's securities, empty if there is no benchmark. */
  readonly benchmark: Float64Array;
}

/** Computation of the figures of a date. */
export interface FiguresMaker {
  readonly figures: DatedFigures;
  /** Writes the figures of a date to their position. */
  make(date: HeldOn): void;
}

export interface Shown {
  /** Positions of the dates in the run, ascending. */
  readonly positions: Int32Array;
  /** Their days. */
  readonly days: Int32Array;
}

/**
 * Computes missing figures.
 * @param onDate called before a date is computed; if it throws, earlier figures are kept
 * @cost one pass over the weights of the dates that lack a figure
 */
export function completeFigures(
  makers: readonly FiguresMaker[],
  { own, benchmark }: { readonly own: ExposureSide; readonly benchmark: ExposureSide | null },
  { positions, days }: Shown,
  onDate: () => void = () => {},
): void {
  const ownAt = own.pass();
  const benchmarkAt = benchmark?.pass() ?? returnNothing;
  positions.forEach((at, k) => {
    const lacking = makers.filter(({ figures }) => figures.known[at] === 0);
    if (lacking.length === 0) return;
    onDate();
    const date: HeldOn = { at, day: days[k]!, own: ownAt(k), benchmark: benchmarkAt(k) };
    for (const { figures, make } of lacking) {
      make(date);
      figures.known[at] = 1;
    }
  });
}

const NOTHING = new Float64Array(0);
const returnNothing = (): Float64Array => NOTHING;

/** Returns a figure on the shown dates, in place if they are contiguous. */
export function selectShownFigure(figures: DatedFigures, figure: number, { positions }: Shown): Float64Array {
  const { values, known } = figures;
  const offset = figure * known.length;
  const [first, last] = [positions[0]!, positions.at(-1)!];
  if (last - first === positions.length - 1)
    return addFigureText(values.subarray(offset + first, offset + last + 1), figures, figure, positions);
  const picked = new Float64Array(positions.length);
  for (let k = 0; k < picked.length; k++) picked[k] = values[offset + positions[k]!]!;
  return picked;
}

/**
 * Returns values of a figure on dates, with its text if that is cached and the dates are contiguous.
 * @param positions of the dates in the run
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
