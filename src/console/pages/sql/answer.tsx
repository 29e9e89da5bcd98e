import type { SqlResult } from '#clients/typescript/divisor.js';
import { useMemo, useState } from 'preact/hooks';
import { Bars } from '../../components/bars.js';
import { Chart } from '../../components/chart/chart.js';
import type { Line } from '../../components/chart/series.js';
import { Facts } from '../../components/facts.js';
import { Menu } from '../../components/menu.js';
import { Section } from '../../components/page.js';
import { SidePanel } from '../../components/side-panel.js';
import { Table } from '../../components/table/table.js';
import { attempt } from '../../state/actions.js';
import { saveFile } from '../../state/files.js';
import { service } from '../../state/service.js';
import { formatDuration } from '../../words/dates.js';
import { formatCount, countValues, MISSING_TEXT } from '../../words/numbers.js';
import { createNumberWriter, createResultColumns, type Row } from './columns.js';
import type { AnsweredQuery } from './sql-page.js';

/** Renders the rows of a query result and a chart of its numbers by date. A row opens to its full values. */
export function Answer({ query, store, result, seconds }: AnsweredQuery) {
  const { columns, data, rows, truncated } = result;
  const resultRows = useMemo(() => data.map((values, no): Row => ({ no, values })), [result]);
  const shownColumns = useMemo(() => createResultColumns(result), [result]);
  const [open, setOpen] = useState<Row | null>(null);
  const row = open !== null && resultRows.includes(open) ? open : null;
  return (
    <Section
      title="Result"
      aside={
        <>
          <span>
            {countValues(rows, 'row')} of {countValues(columns.length, 'column')} in {formatDuration(seconds)}
            {truncated && `; only the first ${formatCount(data.length)} are shown`}
          </span>
          <Save query={query} store={store} />
        </>
      }
    >
      <ResultChart result={result} />
      <Table
        label="result"
        columns={shownColumns}
        rows={resultRows}
        getKey={({ no }) => String(no)}
        searchIn={({ values }) => values.join(' ')}
        onOpen={(one) => setOpen(one)}
        openKey={row && String(row.no)}
        height={560}
        empty="The query returns no rows."
      />
      {row !== null && (
        <SidePanel title={`Row ${formatCount(row.no + 1)}`} onClose={() => setOpen(null)}>
          <Facts facts={columns.map(({ name }, k) => [name, formatWholeText(row.values[k] ?? null)])} />
        </SidePanel>
      )}
    </Section>
  );
}

/** Returns the text of a value without rounding. */
const formatWholeText = (value: string | number | null): string => (value === null ? MISSING_TEXT : String(value));

/** File formats for the download of all rows. */
const FILES = [
  { name: 'CSV', ending: 'csv', media: 'text/csv' },
  { name: 'Parquet', ending: 'parquet', media: 'application/vnd.apache.parquet' },
  { name: 'Arrow', ending: 'arrow', media: 'application/vnd.apache.arrow.stream' },
] as const;

/** Renders a menu that runs the query again and saves all its rows. */
function Save({ query, store }: Pick<AnsweredQuery, 'query' | 'store'>) {
  const request = { query: { store_id: store }, body: { query } };
  return (
    <Menu label="Export the result" title="Export">
      {FILES.map(({ name, ending, media }) => (
        <li key={ending}>
          <button
            type="button"
            onClick={() =>
              void attempt(async () =>
                saveFile(`result.${ending}`, await service.value.download('runSql', media, request)),
              )
            }
          >
            {name}
          </button>
        </li>
      ))}
    </Menu>
  );
}

/** Maximum number of numeric columns in the chart. */
const LINES_MAX = 6;
const POINTS_MIN = 3;

/**
 * Renders the columns of numbers by date. If a date occurs more than once, renders bars of the first of these columns.
 */
function ResultChart({ result: { columns, data } }: { readonly result: SqlResult }) {
  const datePosition = columns.findIndex(({ type }) => type === 'date');
  const drawn = useMemo(() => {
    const sortedRows = data.toSorted((a, b) => (String(a[datePosition]) < String(b[datePosition]) ? -1 : 1));
    const lines = columns.flatMap(({ name, type }, k): readonly Line[] =>
      type === 'number'
        ? [{ id: `c${k}`, label: name, values: sortedRows.map((row) => row[k] as number | null), colour: 1 }]
        : [],
    );
    return {
      dates: sortedRows.map((row) => String(row[datePosition])),
      lines: lines.slice(0, LINES_MAX).map((line, k) => ({ ...line, colour: k + 1 })),
    };
  }, [data]);
  const areOnce = new Set(drawn.dates).size === drawn.dates.length;
  if (drawn.dates.length === 0) return null;
  if (datePosition < 0 || !areOnce || drawn.dates.length < POINTS_MIN || drawn.lines.length === 0)
    return <ResultBars columns={columns} data={data} />;
  return <Chart label="Numbers of the result by date" dates={drawn.dates} lines={drawn.lines} height={220} />;
}

/** Maximum number of bars. */
const BARS_MAX = 24;

/** Renders one bar per row for its first number. The texts of the first column must differ. */
function ResultBars({ columns, data }: Pick<SqlResult, 'columns' | 'data'>) {
  const position = columns.findIndex(({ type }) => type === 'number');
  const labels = data.map(([label]) => String(label));
  const isNamed = columns[0]?.type === 'text' && new Set(labels).size === labels.length;
  if (position < 0 || !isNamed || labels.length < 2 || labels.length > BARS_MAX) return null;
  const bars = data.flatMap((row, k) =>
    typeof row[position] === 'number' ? [{ label: labels[k]!, value: row[position] }] : [],
  );
  const { name } = columns[position]!; // the column was found
  const write = createNumberWriter(
    name,
    bars.map(({ value }) => value),
  );
  return (
    <figure class="sql-bars">
      <figcaption class="quiet">
        {name} by {columns[0]?.name}
      </figcaption>
      <Bars label={`${name} by ${columns[0]?.name}`} bars={bars} isPlain format={write} />
    </figure>
  );
}
