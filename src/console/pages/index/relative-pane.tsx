import { useMemo } from 'preact/hooks';
import { Chart } from '../../components/chart/chart.js';
import { limitToRange, type Line } from '../../components/chart/series.js';
import { getParameter } from '../../state/location.js';
import { chooseRange, findChosenRange } from '../../state/range.js';

/** Renders the first line divided by another line. The result is rebased to 100 at the first date of the range. */
export function RelativePane({ dates, lines }: { readonly dates: readonly string[]; readonly lines: readonly Line[] }) {
  const range = findChosenRange();
  const other = lines.slice(1).find(({ id }) => id === getParameter('relative'));
  const [own] = lines;
  const ratio = useMemo(() => {
    if (own === undefined || other === undefined) return null;
    const [first] = limitToRange(dates, range);
    const values = own.values.map((value, t) => {
      const base = other.values[t] ?? null;
      return value === null || base === null || base === 0 ? null : value / base;
    });
    return [{ id: 'relative', label: `${own.label} / ${other.label}`, values: rebase(values, first), colour: 5 }];
  }, [own, other, dates, range?.from, range?.to]);
  if (ratio === null || other === undefined) return null;
  return (
    <Chart
      label={`Level relative to ${other.label}`}
      dates={dates}
      lines={ratio}
      height={140}
      sync="index"
      range={range}
      onRange={chooseRange}
    />
  );
}

/**
 * Rebases values to 100 at the first value on or after a position. Only for display: the service computes all figures.
 */
export function rebase(values: readonly (number | null)[], first: number): readonly (number | null)[] {
  const base = values.slice(first).find((value) => value !== null) ?? null;
  return base === null ? values : values.map((value) => (value === null ? null : (100 * value) / base));
}
