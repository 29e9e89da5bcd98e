import type { SqlResult } from '#clients/typescript/divisor.js';
import { useMemo } from 'preact/hooks';
import { Chart } from '../../components/chart/chart.js';
import type { Line } from '../../components/chart/series.js';
import { Section } from '../../components/page.js';
import type { Column } from '../../components/table/columns.js';
import { Table } from '../../components/table/table.js';
import { count, countValues, figure, NONE } from '../../words/numbers.js';

type Row = { readonly no: number; readonly values: SqlResult['data'][number] };

/** Renders the rows of a result, and its numbers by date as a chart. */
export function Answer({ result }: { readonly result: SqlResult }) {
  const { columns, data, rows, truncated } = result;
  const listed = useMemo(() => data.map((values, no): Row => ({ no, values })), [result]);
  const shown = useMemo(() => columnsOf(result), [result]);
  return (
    <Section
      title="Result"
      aside={`${countValues(rows, 'row')} of ${countValues(columns.length, 'column')}${truncated ? ', cut' : ''}`}
    >
      <Drawn result={result} />
      <Table
        label="result"
        columns={shown}
        rows={listed}
        keyOf={({ no }) => String(no)}
        searchIn={({ values }) => values.join(' ')}
        height={560}
        empty="The query returns no rows."
      />
    </Section>
  );
}

const isNumber = (type: SqlResult['columns'][number]['type']): boolean => type === 'number' || type === 'count';

const columnsOf = ({ columns }: SqlResult): readonly Column<Row>[] =>
  columns.map(({ name, type }, k) => ({
    id: `c${k}`,
    title: name,
    width: type === 'text' ? 120 : 104,
    grow: 1,
    priority: Math.min(9, 1 + Math.floor(k / 3)),
    ...(isNumber(type) ? { align: 'right' as const } : {}),
    value: ({ values }) => values[k] ?? null,
    show: ({ values }) => {
      const value = values[k] ?? null;
      if (value === null) return NONE;
      if (typeof value === 'string') return <span title={value}>{value}</span>;
      return type === 'count' ? count(value) : figure(value);
    },
  }));

/** Numeric columns that are drawn. */
const LINES_MAX = 6;
const POINTS_MIN = 3;

/** Renders numbers by date if each date occurs once. */
function Drawn({ result: { columns, data } }: { readonly result: SqlResult }) {
  const at = columns.findIndex(({ type }) => type === 'date');
  const drawn = useMemo(() => {
    const sorted = data.toSorted((a, b) => (String(a[at]) < String(b[at]) ? -1 : 1));
    const lines = columns.flatMap(({ name, type }, k): readonly Line[] =>
      type === 'number'
        ? [{ id: `c${k}`, label: name, values: sorted.map((row) => row[k] as number | null), colour: 1 }]
        : [],
    );
    return {
      dates: sorted.map((row) => String(row[at])),
      lines: lines.slice(0, LINES_MAX).map((line, k) => ({ ...line, colour: k + 1 })),
    };
  }, [data]);
  const areOnce = new Set(drawn.dates).size === drawn.dates.length;
  if (at < 0 || !areOnce || drawn.dates.length < POINTS_MIN || drawn.lines.length === 0) return null;
  return <Chart label="Numbers of the result by date" dates={drawn.dates} lines={drawn.lines} height={220} />;
}
