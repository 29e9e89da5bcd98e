import type { Day } from '#domain/time/days.js';
import { withText, type FigureTexts } from './figure-texts.js';
import type { Side } from './sides.js';

/** Figures of the dates of a run, each worked out when its date is first asked for: they depend on no window. */
export interface DatedFigures {
  /** Figure by figure, [width x dates]. */
  readonly values: Float64Array;
  /** 1 where the figures of a date are there, [dates]. */
  readonly known: Uint8Array;
  /** Texts of those that were written; null where they are not kept. */
  readonly texts: FigureTexts | null;
}

export interface FiguresSize {
  /** Figures of a date. */
  readonly width: number;
  readonly dates: number;
  /** True when their texts are kept with them. */
  readonly areWritten?: boolean;
}

/** Figures of a run by the key of their inputs. A cache may forget them between views, but not within one. */
export type KeepFigures = (what: readonly unknown[], size: FiguresSize) => DatedFigures;

export function createFigures({ width, dates, areWritten = false }: FiguresSize): DatedFigures {
  return { values: new Float64Array(width * dates), known: new Uint8Array(dates), texts: areWritten ? [] : null };
}

/** Keeps nothing. */
export const unkept: KeepFigures = (_what, size) => createFigures(size);

/** A date of a run with what is held on it. */
export interface HeldOn {
  /** Position in the dates of the run. */
  readonly at: number;
  readonly day: Day;
  /** Weights of the run's names; valid until the next date. */
  readonly own: Float64Array;
  /** Weights of the benchmark's securities, empty when there is no benchmark. */
  readonly benchmark: Float64Array;
}

/** How figures of a date are worked out. */
export interface FiguresMaker {
  readonly figures: DatedFigures;
  /** Writes the figures of a date to its place. */
  make(date: HeldOn): void;
}

export interface Shown {
  /** Positions of the dates in those of the run, ascending. */
  readonly positions: Int32Array;
  /** Their days. */
  readonly days: Int32Array;
}

/**
 * Works out what is not known yet.
 * @param onDate called before a date is worked out; the figures of those before it are kept when it throws
 * @cost one pass over the weights of the dates that lack a figure
 */
export function complete(
  makers: readonly FiguresMaker[],
  { own, benchmark }: { readonly own: Side; readonly benchmark: Side | null },
  { positions, days }: Shown,
  onDate: () => void = () => {},
): void {
  const ownAt = own.pass();
  const benchmarkAt = benchmark?.pass() ?? nothing;
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
const nothing = (): Float64Array => NOTHING;

/** A figure on the dates that are shown; where they lie together it is where it is kept. */
export function shownFigure(figures: DatedFigures, figure: number, { positions }: Shown): Float64Array {
  const { values, known } = figures;
  const offset = figure * known.length;
  const [first, last] = [positions[0]!, positions.at(-1)!];
  if (last - first === positions.length - 1)
    return withFigureText(values.subarray(offset + first, offset + last + 1), figures, figure, positions);
  const picked = new Float64Array(positions.length);
  for (let k = 0; k < picked.length; k++) picked[k] = values[offset + positions[k]!]!;
  return picked;
}

/**
 * Values of a figure on dates, with its text where that is kept and the dates follow each other.
 * @param positions of the dates in those of the run
 */
export function withFigureText(
  values: Float64Array,
  { texts }: DatedFigures,
  figure: number,
  positions: Int32Array,
): Float64Array {
  const [first, last] = [positions[0]!, positions.at(-1)!];
  if (texts === null || last - first !== positions.length - 1) return values;
  return withText(values, { texts, figure, first });
}
