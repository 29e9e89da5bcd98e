import type { RowCounts } from '../content/restatements.js';
import type { MarketContent } from '../content/market-content.js';
import type { ContentChange, FieldChange } from './content-change.js';
import { placesOf, type ListChange } from './list-change.js';

interface Contents {
  readonly before: MarketContent;
  readonly after: MarketContent;
}

/** Rows of all tables, and of them the bars. */
export interface ChangeCounts extends RowCounts {
  readonly bars: RowCounts;
}

/**
 * Rows that a content has gained, lost, and has otherwise than the one before: bars by CLOSE, and rows of the tables.
 * @param change how the content before is made from the one after
 * @cost one pass over the days and names that are new or gone
 */
export function changeCounts(change: ContentChange, contents: Contents): ChangeCounts {
  const bars = barCounts(change, contents);
  const { reference, actions, universes, series } = change.tables;
  const { after } = contents;
  const seriesLines = [...(after.series?.values() ?? [])].reduce((sum, { days }) => sum + 1 + days.length, 0);
  const tables = [
    listCounts(reference, after.reference.rows.size),
    listCounts(actions, after.actions.length),
    listCounts(universes, after.universes.length),
    listCounts(series, seriesLines),
  ];
  const total = (of: keyof RowCounts): number => [bars, ...tables].reduce((sum, counts) => sum + counts[of], 0);
  return { added: total('added'), changed: total('changed'), removed: total('removed'), bars };
}

/** Rows of a table: one that is gone and one that came are one that has changed. */
function listCounts(change: ListChange<string>, length: number): RowCounts {
  const taken = new Set(placesOf(change));
  const gone = change.reduce((sum, step) => sum + ('own' in step ? step.own.length : 0), 0);
  taken.delete(-1);
  const come = length - taken.size;
  const changed = Math.min(gone, come);
  return { added: come - changed, changed, removed: gone - changed };
}

function barCounts({ dates, identifiers, fields }: ContentChange, { before, after }: Contents): RowCounts {
  const [rows, columns] = [placesOf(dates), placesOf(identifiers)];
  const [heldRows, heldColumns] = [new Set(rows), new Set(columns)];
  const isHeld = (t: number, n: number): boolean => rows[t]! >= 0 && columns[n]! >= 0;
  const counts = { added: 0, changed: 0, removed: 0 };
  forBars(after, (t, n) => {
    if (!heldRows.has(t) || !heldColumns.has(n)) counts.added++;
  });
  if (heldRows.has(-1) || heldColumns.has(-1))
    forBars(before, (t, n) => {
      if (!isHeld(t, n)) counts.removed++;
    });
  const width = before.identifiers.length;
  const seen = new Set<number>();
  const closes = after.fields.get('CLOSE')!;
  const own = before.fields.get('CLOSE')!;
  for (const field of fields) {
    forCells(field, (t, n) => {
      if (!isHeld(t, n) || seen.has(t * width + n)) return;
      seen.add(t * width + n);
      const was = !Number.isNaN(own[t * width + n]!);
      const is = !Number.isNaN(closes[rows[t]! * after.identifiers.length + columns[n]!]!);
      if (was && is) counts.changed++;
      else if (is) counts.added++;
      else if (was) counts.removed++;
    });
  }
  return counts;
}

function forBars({ dates, identifiers, fields }: MarketContent, see: (t: number, n: number) => void): void {
  const closes = fields.get('CLOSE')!;
  for (let t = 0; t < dates.length; t++)
    for (let n = 0; n < identifiers.length; n++) if (!Number.isNaN(closes[t * identifiers.length + n]!)) see(t, n);
}

function forCells({ rows, columns }: FieldChange, see: (t: number, n: number) => void): void {
  for (let i = 0; i < rows.length; i++) see(rows[i]!, columns[i]!);
}
