import type { LevelChange } from '#domain/documents/published-error.js';
import type { PublicationEntry } from '#domain/documents/publication-document.js';

/** Closes of an index in one run. All arrays have one entry per date; levels are in index points. */
export interface Closes {
  /** YYYY-MM-DD, ascending. */
  readonly dates: readonly string[];
  readonly price: readonly (number | null)[];
  readonly total: readonly (number | null)[];
  readonly net: readonly (number | null)[];
  readonly divisor: readonly (number | null)[];
  readonly composition_hash: readonly string[];
  /** Number of securities that are held at each close, and how many of them have no bar on the date. */
  readonly held: readonly number[];
  readonly without_bar: readonly number[];
}

/** Date on which a run and the valid published entry differ. */
export interface Disagreement {
  readonly date: string;
  /** Position of the date in the run; null if the run does not have the session. */
  readonly position: number | null;
}

/** Levels of an entry. */
const LEVELS = ['price', 'total', 'net'] as const;

/** Sizes of disagreements. */
export interface DisagreementSizes {
  /**
   * Number of dates on which a level differs by more than rounding. On the other dates only the divisor, the
   * composition or the last digits differ.
   */
  readonly levels_changed: number;
  /** Earliest of the largest relative changes within rounding; null if only divisor or composition differ. */
  readonly largest: LevelChange | null;
}

const COMPARED_NUMBERS = ['price', 'total', 'net', 'divisor'] as const;

/**
 * Returns the dates on which a run and the valid published entries differ, in ascending order. Levels are rounded as the
 * index rounds them; a difference within rounding errors is none. Compares only dates that both cover.
 * @param entriesInForce entries by date
 */
export function findDisagreements(
  closes: Closes,
  entriesInForce: ReadonlyMap<string, PublicationEntry>,
): Disagreement[] {
  const publishedDates = [...entriesInForce.keys()].toSorted();
  const [first, last] = [closes.dates[0], closes.dates.at(-1)];
  if (first === undefined || last === undefined || publishedDates.length === 0) return [];
  const from = first > publishedDates[0]! ? first : publishedDates[0]!;
  const to = last < publishedDates.at(-1)! ? last : publishedDates.at(-1)!;
  const positions = new Map(closes.dates.map((date, i) => [date, i]));
  return [...new Set([...publishedDates, ...closes.dates])]
    .filter((date) => date >= from && date <= to)
    .toSorted()
    .flatMap((date) => {
      const position = positions.get(date) ?? null;
      const entry = entriesInForce.get(date);
      const isEqual =
        position !== null &&
        entry !== undefined &&
        closes.composition_hash[position] === entry.composition_hash &&
        COMPARED_NUMBERS.every((member) => isSameNumber(closes[member][position]!, entry[member]));
      return isEqual ? [] : [{ date, position }];
    });
}

/** Measures the differences of the levels that exist both in the run and in the entry. */
export function measureDisagreements(
  disagreements: readonly Disagreement[],
  closes: Closes,
  entriesInForce: ReadonlyMap<string, PublicationEntry>,
): DisagreementSizes {
  let changedLevels = 0;
  let largest: LevelChange | null = null;
  for (const { date, position } of disagreements) {
    const changes = listLevelChanges(
      date,
      entriesInForce.get(date),
      position === null ? undefined : closeAt(closes, position),
    );
    if (changes.some(isBeyondRounding)) changedLevels++;
    for (const levelChange of changes) if (isLarger(levelChange, largest)) largest = levelChange;
  }
  return { levels_changed: changedLevels, largest };
}

/**
 * Maximum relative difference of two levels that only the order of additions can explain. After a price correction,
 * later closes differ by such amounts.
 */
const ROUNDING = 1e-12;

/** Returns true if two numbers are equal, or differ only by rounding errors. */
const isSameNumber = (run: number | null, published: number | null): boolean =>
  run === null || published === null ? run === published : Math.abs(run - published) <= ROUNDING * Math.abs(published);

const isBeyondRounding = ({ change, published }: LevelChange): boolean =>
  Math.abs(change) > ROUNDING * Math.abs(published);

/** Returns true if a change is larger than the largest earlier change by more than rounding. */
const isLarger = ({ change, change_bps: bps }: LevelChange, largest: LevelChange | null): boolean =>
  largest === null ? change !== 0 : Math.abs(bps) > Math.abs(largest.change_bps) + 1e4 * ROUNDING;

/** Returns the changes of the levels of one close. @param position position of the date in the closes */
export const listChangesOn = (
  date: string,
  position: number,
  {
    closes,
    entriesInForce,
  }: { readonly closes: Closes; readonly entriesInForce: ReadonlyMap<string, PublicationEntry> },
): readonly LevelChange[] => listLevelChanges(date, entriesInForce.get(date), closeAt(closes, position));

type Levels = Pick<PublicationEntry, (typeof LEVELS)[number]>;

const closeAt = ({ price, total, net }: Closes, position: number): Levels => ({
  price: price[position]!,
  total: total[position]!,
  net: net[position]!,
});

/** Compares the levels that exist both in the entry and in the close. */
function listLevelChanges(date: string, entry: Levels | undefined, close: Levels | undefined): readonly LevelChange[] {
  return LEVELS.flatMap((variant) => {
    const [published, run] = [entry?.[variant] ?? null, close?.[variant] ?? null];
    if (published === null || run === null) return [];
    const change = run - published;
    return [{ date, variant, published, run, change, change_bps: (1e4 * change) / published }];
  });
}
