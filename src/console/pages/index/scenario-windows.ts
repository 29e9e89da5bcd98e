import { formatPercent } from '../../words/numbers.js';
import type { JsonObject } from '../../words/paths.js';

interface NamedWindow {
  readonly name: string;
  readonly start: string;
  readonly end: string;
}

/** Historical periods. Each goes from a peak of the world's equity markets to the next low. */
const WINDOWS: readonly NamedWindow[] = [
  { name: 'Black Monday 1987', start: '1987-10-13', end: '1987-10-19' },
  { name: 'Russian default 1998', start: '1998-07-17', end: '1998-08-31' },
  { name: 'Dot-com bust 2000 to 2002', start: '2000-03-24', end: '2002-10-09' },
  { name: 'Financial crisis 2008', start: '2008-09-12', end: '2009-03-09' },
  { name: 'Euro crisis 2011', start: '2011-07-07', end: '2011-10-03' },
  { name: 'Taper tantrum 2013', start: '2013-05-21', end: '2013-06-24' },
  { name: 'China devaluation 2015', start: '2015-08-10', end: '2015-08-25' },
  { name: 'Fourth quarter 2018', start: '2018-09-20', end: '2018-12-24' },
  { name: 'Pandemic 2020', start: '2020-02-19', end: '2020-03-23' },
  { name: 'Inflation 2022', start: '2022-01-03', end: '2022-10-12' },
];

/** Returns the historical periods that are within the dates of a store, as scenarios. */
export const createWindowScenarios = (start: string, end: string): readonly JsonObject[] =>
  WINDOWS.filter((window) => window.start >= start && window.end <= end).map(({ name, ...window }) => ({
    name,
    window: { ...window },
  }));

/** Returns the drawdowns of an index as scenarios, each from a peak to the next low. They are sorted by date. */
export const createDrawdownScenarios = (
  drawdowns: readonly { readonly peak: string; readonly trough: string; readonly depth: number }[],
): readonly JsonObject[] =>
  drawdowns
    .toSorted((a, b) => (a.peak < b.peak ? -1 : 1))
    .map(({ peak, trough, depth }) => ({
      name: `${formatPercent(Math.abs(depth), 1)} drawdown, ${peak.slice(0, 'YYYY-MM'.length)}`,
      window: { start: peak, end: trough },
    }));
