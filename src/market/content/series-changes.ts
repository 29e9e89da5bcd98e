import { formatDay } from '#domain/time/days.js';
import { compareText } from '#domain/refusals/findings.js';
import type { PriceSeries, SeriesTable } from '#domain/market/series.js';
import { createRestatements, type TableChanges } from './restatements.js';

/**
 * Compares two versions of the series. Values after the last day of a series are not part of its history, and neither
 * are the values of a new series.
 * @param isLiteral true to report late values as well, for days up to the last stored one
 * @cost one pass over the values of both
 */
export function compareSeries(
  before: SeriesTable | undefined,
  after: SeriesTable | undefined,
  isLiteral: boolean,
): TableChanges {
  const restatements = createRestatements();
  const counts = { added: 0, changed: 0, removed: 0 };
  const history = { added: 0, changed: 0, removed: 0 };
  const addRestatement = (
    identifier: string,
    date: string | null,
    column: string,
    [was, is]: readonly [string | number | null, string | number | null],
  ) => restatements.add(() => ({ dataset: 'series', identifier, date, column, before: was, after: is }));

  for (const identifier of [...new Set([...(before?.keys() ?? []), ...(after?.keys() ?? [])])].toSorted(compareText)) {
    const [old, now] = [before?.get(identifier), after?.get(identifier)];
    const lastHeld = old?.days.at(-1) ?? -Infinity;
    for (const [column, was, is] of listAttributes(old, now)) {
      addRestatement(identifier, null, column, [was, is]);
      counts.changed += 1;
      history.changed += 1;
    }
    for (const { day, was, is } of iterateDifferences(old, now)) {
      const kind = was !== was ? 'added' : is !== is ? 'removed' : 'changed';
      counts[kind] += 1;
      if (day <= lastHeld) history[kind] += 1;
      if (kind !== 'added' || (isLiteral && day <= lastHeld))
        addRestatement(identifier, formatDay(day), 'CLOSE', [was === was ? was : null, is === is ? is : null]);
    }
  }
  return { ...counts, history, ...restatements.listRestatements() };
}

/** Returns the attributes of a series that differ between two versions. */
function listAttributes(
  old: PriceSeries | undefined,
  newSeries: PriceSeries | undefined,
): (readonly [string, string | null, string | null])[] {
  if (old === undefined || newSeries === undefined) return [];
  return (
    [
      ['CURRENCY', old.currency, newSeries.currency],
      ['NAME', old.name, newSeries.name],
    ] as const
  ).filter(([, was, is]) => was !== is);
}

/** Yields the days on which two versions of a series differ, ascending. A missing value is NaN. */
function* iterateDifferences(
  old: PriceSeries | undefined,
  newSeries: PriceSeries | undefined,
): Generator<{ readonly day: number; readonly was: number; readonly is: number }> {
  const [oldDays, nowDays] = [old?.days ?? [], newSeries?.days ?? []];
  for (let i = 0, k = 0; i < oldDays.length || k < nowDays.length;) {
    const day = Math.min(oldDays[i] ?? Infinity, nowDays[k] ?? Infinity);
    const oldClose = oldDays[i] === day ? old!.closes[i++]! : Number.NaN; // this version has the day
    const newClose = nowDays[k] === day ? newSeries!.closes[k++]! : Number.NaN; // this version has the day
    if (oldClose !== newClose) yield { day, was: oldClose, is: newClose };
  }
}
