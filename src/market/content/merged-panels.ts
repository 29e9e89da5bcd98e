import type { Day } from '#domain/time/days.js';
import { compareText } from '#domain/refusals/findings.js';
import { allocateGrowablePanel, removeEmptyLines, type Panels } from '../panels/panels.js';
import type { SecurityJudgement } from './judged-securities.js';

/**
 * Returns merged panels with changes on stored days. A security whose history was converted for a split takes the bars
 * of the source. A rejected security keeps the stored bars. Any other security has the stored bars, followed by the
 * later bars of the source.
 * @cost one pass over the cells of both, and a copy
 */
export function mergeRestatedPanels(
  heldPanels: Panels,
  fresh: Panels,
  judgement: SecurityJudgement,
  until: Day | null,
): Panels {
  const last = until ?? Infinity;
  const lastDay = heldPanels.dates.at(-1)!;
  const identifiers = [...new Set([...heldPanels.identifiers, ...fresh.identifiers])].sort(compareText);
  const dates = Int32Array.from(
    new Set([...heldPanels.dates, ...fresh.dates.filter((day) => day <= Math.max(last, lastDay))]),
  ).sort();
  const [ownRows, freshRows] = [findPositions(dates, heldPanels.dates), findPositions(dates, fresh.dates)];
  const spans = listSpans(identifiers, { storedPanels: heldPanels, fresh }, judgement, { last, lastDay });
  const names = [...new Set([...heldPanels.fields.keys(), ...fresh.fields.keys()])];
  const width = identifiers.length;
  const fields = new Map<string, Float64Array>();
  for (const name of names) {
    const [was, is] = [heldPanels.fields.get(name), fresh.fields.get(name)];
    const panel = new Float64Array(allocateGrowablePanel(dates.length, width, names.length), 0, dates.length * width);
    let isUsed = was !== undefined;
    dates.forEach((day, t) => {
      for (let i = 0; i < width; i++) {
        const { n, m, from, to } = spans[i]!;
        const isFresh = day > from && day <= to;
        const value = isFresh
          ? getValueAt(is, freshRows[t]! * fresh.identifiers.length + m, freshRows[t]! >= 0 && m >= 0)
          : getValueAt(was, ownRows[t]! * heldPanels.identifiers.length + n, ownRows[t]! >= 0 && n >= 0);
        panel[t * width + i] = value;
        if (value === value) isUsed = true;
      }
    });
    if (isUsed) fields.set(name, panel);
  }
  const panels = removeEmptyLines({ identifiers, dates, fields });
  const isSameAxis =
    panels.identifiers.length === heldPanels.identifiers.length &&
    panels.identifiers.every((identifier, n) => identifier === heldPanels.identifiers[n]);
  return isSameAxis ? { ...panels, identifiers: heldPanels.identifiers } : panels;
}

const getValueAt = (panel: Float64Array | undefined, cell: number, isHeld: boolean): number =>
  isHeld && panel !== undefined ? panel[cell]! : Number.NaN;

/** Returns the position of each day in a second list of days. The position is -1 if the day is missing there. */
function findPositions(days: Int32Array, others: Int32Array): Int32Array {
  const positionByDay = new Map([...others].map((day, t) => [day, t]));
  return Int32Array.from(days, (day) => positionByDay.get(day) ?? -1);
}

/** Columns of a security in both versions, and the range of days taken from the source. */
interface Span {
  readonly n: number;
  readonly m: number;
  readonly from: number;
  readonly to: number;
}

function listSpans(
  identifiers: readonly string[],
  { storedPanels, fresh }: { readonly storedPanels: Panels; readonly fresh: Panels },
  { rejected, restated, late, corrected, lastOf }: SecurityJudgement,
  { last, lastDay }: { readonly last: number; readonly lastDay: Day },
): Span[] {
  const [storedPlaces, other] = [storedPanels, fresh].map(
    (panels) => new Map(panels.identifiers.map((identifier, place) => [identifier, place])),
  ) as [Map<string, number>, Map<string, number>];
  return identifiers.map((identifier) => {
    const [n, m] = [storedPlaces.get(identifier) ?? -1, other.get(identifier) ?? -1];
    const end = n < 0 ? lastDay : lastOf[n]!;
    if (rejected.has(identifier)) return { n, m, from: Infinity, to: -Infinity };
    if (restated.has(identifier)) return { n, m, from: -Infinity, to: Math.max(last, end) };
    // Except for late and corrected bars, both versions are equal on stored days.
    const firstChanged = Math.min(late.get(identifier)?.from ?? Infinity, corrected.get(identifier)?.from ?? Infinity);
    return { n, m, from: Math.min(end, firstChanged - 1), to: last };
  });
}
