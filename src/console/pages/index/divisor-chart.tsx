import { useState } from 'preact/hooks';
import { Chart } from '../../components/chart/chart.js';
import type { Line, Unit } from '../../components/chart/series.js';
import { ExportMenu } from '../../components/export-menu.js';
import { Section } from '../../components/page.js';
import { Answered } from '../../components/wait.js';
import { chooseRange, findChosenRange } from '../../state/range.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { formatRunKey, readShownRun } from '../../state/shown-run.js';
import { sumByYear } from '../../words/sums.js';

interface Divisors {
  readonly dates: readonly string[];
  readonly divisor: readonly (number | null)[];
  /**
   * Dividend points added up within each calendar year. Empty if dividends are reinvested in the securities that pay
   * them.
   */
  readonly points: readonly Line[];
}

/**
 * Renders the divisor of the index and its ordinary dividends in index points. The data is loaded when the section is
 * opened.
 */
export function DivisorChart({ id }: { readonly id: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Divisor and dividend points</summary>
      {isOpen && <Charts id={id} />}
    </details>
  );
}

function Charts({ id }: { readonly id: string }) {
  const table = useResource(`divisor ${formatRunKey(id)}`, (signal) => readDivisors(id, signal), { keeps: true });
  const range = findChosenRange();
  const linked = { height: 180, sync: 'index', range, onRange: chooseRange };
  return (
    <Section title="Divisor" aside={<ExportMenu id={id} table="events" text="events" />}>
      <Answered resource={table} what="the divisor">
        {({ dates, divisor, points }) => (
          <>
            <Chart
              label={`Divisor of ${id}`}
              dates={dates}
              lines={[{ id: 'divisor', label: 'Divisor', values: divisor, colour: 1 }]}
              unit={createUnit(divisor)}
              {...linked}
            />
            {points.length > 0 ? (
              <Chart label={`Dividend points of ${id} in each year`} dates={dates} lines={points} {...linked} />
            ) : (
              <p class="quiet">This run has no dividend points: dividends buy more of the security that pays them.</p>
            )}
          </>
        )}
      </Answered>
    </Section>
  );
}

/** Number of significant digits of a divisor. With it, small changes at a rebalance are visible. */
const DIGITS = 8;
const DECIMALS_MAX = 12;

function createUnit(divisor: readonly (number | null)[]): Unit {
  const largestDivisor = divisor.reduce<number>((high, value) => Math.max(high, value ?? 0), 0);
  const digits = largestDivisor === 0 ? 0 : Math.ceil(Math.log10(largestDivisor));
  return { of: 'number', digits: Math.min(DECIMALS_MAX, Math.max(2, DIGITS - digits)) };
}

async function readDivisors(id: string, signal: AbortSignal): Promise<Divisors> {
  const { columns, data } = await service.value.call('exportRun', {
    params: { index_id: id, table: 'levels' },
    query: { ...readShownRun(), format: 'json' },
    signal,
  });
  const listValues = (name: string) => {
    const position = columns.indexOf(name);
    return data.map((row) => row[position] as number | null); // every cell is a number or null
  };
  const dates = data.map((row) => String(row[columns.indexOf('date')]));
  const series = [
    { id: 'points', label: 'Dividend points of the year', column: 'dividend_points', colour: 2 },
    { id: 'net', label: 'After withholding tax', column: 'net_dividend_points', colour: 4 },
  ];
  const points = series.flatMap(({ column, ...line }): Line[] => {
    const paid = listValues(column);
    return paid.every((value) => value === null) ? [] : [{ ...line, values: sumByYear(dates, paid) }];
  });
  return { dates, divisor: listValues('divisor'), points };
}
