import type { IdentifierSearch } from '#clients/typescript/divisor.js';
import { Metrics } from '../../components/metrics.js';
import { formatCompact } from '../../words/amounts.js';
import { computeMedian } from '../../words/median.js';
import { formatCount, formatMoney, formatPercent } from '../../words/numbers.js';

type Row = IdentifierSearch['identifiers'][number];

interface SectorSum {
  readonly name: string;
  readonly count: number;
  /** Sum of the market capitalisations. */
  readonly cap: number;
}

/** Returns the sectors with their securities, in alphabetical order. */
export function sumSectors(rows: readonly Row[]): readonly SectorSum[] {
  const sums = new Map<string, SectorSum>();
  for (const { sector, market_cap: cap } of rows) {
    if (sector === null) continue;
    const before = sums.get(sector) ?? { name: sector, count: 0, cap: 0 };
    sums.set(sector, { ...before, count: before.count + 1, cap: before.cap + (cap ?? 0) });
  }
  return [...sums.values()].toSorted((a, b) => a.name.localeCompare(b.name));
}

/** Returns the last date on which a security has a price; empty if none has one. */
export const findLastDate = (rows: readonly Row[]): string =>
  rows.reduce((latest, { end }) => (end !== null && end > latest ? end : latest), '');

/**
 * Renders the number, the size and the concentration of securities. A security counts as traded only if it has a
 * current price.
 */
export function SecurityFigures({ rows }: { readonly rows: readonly Row[] }) {
  const lastDate = findLastDate(rows);
  const tradedRows = rows.filter(({ end }) => end === lastDate);
  const sizedRows = tradedRows
    .filter((row): row is Row & { readonly market_cap: number } => row.market_cap !== null)
    .toSorted((a, b) => b.market_cap - a.market_cap);
  const [first] = sizedRows;
  const currencies = new Set(sizedRows.map(({ currency }) => currency));
  if (first === undefined || currencies.size > 1) return null;
  const total = sizedRows.reduce((sum, { market_cap: cap }) => sum + cap, 0);
  const [sector] = sumSectors(sizedRows).toSorted((a, b) => b.cap - a.cap);
  const writeCap = (cap: number) => formatMoney(formatCompact(cap), first.currency);
  const writeShare = (cap: number) => `${formatPercent(cap / total, 1)} of the market cap`;
  return (
    <Metrics
      label="Figures of the securities"
      metrics={[
        {
          term: 'Traded',
          value: formatCount(tradedRows.length),
          note: `on ${lastDate}${tradedRows.length < rows.length ? `; ${formatCount(rows.length - tradedRows.length)} ended earlier` : ''}`,
        },
        { term: 'Market cap', value: writeCap(total), note: 'sum' },
        { term: 'Median market cap', value: writeCap(computeMedian(sizedRows.map(({ market_cap: cap }) => cap))) },
        { term: 'Largest security', value: first.identifier, note: writeShare(first.market_cap) },
        ...(sector === undefined
          ? []
          : [{ term: 'Largest sector', value: sector.name, note: writeShare(sector.cap), isLong: true }]),
      ]}
    />
  );
}
