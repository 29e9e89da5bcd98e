import './sql.css';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { SqlResult } from '#clients/typescript/divisor.js';
import { Chart } from '../../components/chart/chart.js';
import type { Line } from '../../components/chart/series.js';
import type { SqlTableColumn, SqlTables } from '../../components/code/sql-editor.js';
import { Button } from '../../components/controls/button.js';
import { AddSelect } from '../../components/controls/choice.js';
import { Menu } from '../../components/controls/menu.js';
import { Answered, createLazyComponent, Problem, Wait } from '../../components/feedback.js';
import { Bars } from '../../components/layout/bars.js';
import { SidePanel } from '../../components/layout/dialog.js';
import { Facts } from '../../components/layout/facts.js';
import { GuideLink, Page, Section } from '../../components/layout/page.js';
import { StoreSelect } from '../../components/stores.js';
import { Table } from '../../components/table/table.js';
import { tryAction } from '../../state/actions.js';
import { saveFile } from '../../state/files.js';
import { getParameter, setParameters } from '../../state/location.js';
import { createTrouble, type Resource, service, type Trouble, useResource } from '../../state/service.js';
import { createStoredList } from '../../state/stored-list.js';
import { getChosenStore } from '../../state/stores.js';
import { formatDuration, formatMoment } from '../../words/dates.js';
import { countValues, formatCount, MISSING_TEXT } from '../../words/numbers.js';
import { createNumberWriter, createResultColumns, type ResultRow } from './columns.js';

interface Example {
  readonly title: string;
  /** Rows of the result. */
  readonly help: string;
  readonly query: string;
}

/** Example queries. They return rows on every service that has a stored run. */
const EXAMPLES: readonly Example[] = [
  {
    title: 'Return by index',
    help: 'Each index, before costs and as the portfolio after costs',
    query:
      'SELECT index_id,\n  round(100 * (arg_max(index_points, date) / arg_min(index_points, date) - 1), 2) AS return_in_percent,\n  round(100 * (arg_max(level, date) / arg_min(level, date) - 1), 2) AS portfolio_after_costs_in_percent,\n  min(date) AS first, max(date) AS last\nFROM levels\nGROUP BY index_id\nORDER BY return_in_percent DESC',
  },
  {
    title: 'Indices and their runs',
    help: 'Period, time of the run and data store',
    query: 'SELECT index_id, name, start, "end", run_at, store_id\nFROM runs\nORDER BY index_id',
  },
  {
    title: 'Latest levels',
    help: 'Level of the index and of its portfolio on the last date',
    query:
      'SELECT index_id, max(date) AS date, arg_max(index_points, date) AS index_points, arg_max(level, date) AS portfolio_after_costs\nFROM levels\nGROUP BY index_id',
  },
  {
    title: 'Largest weights',
    help: 'The ten largest constituents of each index',
    query:
      'SELECT index_id, identifier, weight\nFROM weights\nQUALIFY row_number() OVER (PARTITION BY index_id ORDER BY date DESC, weight DESC) <= 10',
  },
  {
    title: 'Turnover by year',
    help: 'One-way turnover of each index',
    query:
      'SELECT index_id, year(date) AS year, sum(abs(weight_after - weight_before)) / 2 AS turnover\nFROM trades\nGROUP BY ALL\nORDER BY ALL',
  },
  {
    title: 'Closes of one session',
    help: 'The 50 highest closes of the last session',
    query:
      'SELECT identifier, CLOSE\nFROM prices\nWHERE date = (SELECT max(date) FROM prices)\nORDER BY CLOSE DESC\nLIMIT 50',
  },
];

/** A successfully answered query. */
export interface PastQuery {
  readonly query: string;
  readonly at: string;
  readonly rows: number;
  readonly seconds: number;
}

const QUERIES_MAX = 50;

const { items, set } = createStoredList<PastQuery>('divisor.sql', QUERIES_MAX);

/** Answered queries of this browser, newest last. */
const pastQueries = items;

/** Adds a query to the history. If the history already has the same text, the earlier entry is removed. */
const addQuery = (past: PastQuery): void => set([...items.peek().filter(({ query }) => query !== past.query), past]);

const forgetQueries = (): void => set([]);

/** Renders a menu of the queries run in this browser, newest first. */
function PastQueries({ onChoose }: { readonly onChoose: (query: string) => void }) {
  const queries = pastQueries.value.toReversed();
  if (queries.length === 0) return null;
  return (
    <div class="sql-history">
      <Menu label="History of queries" title="History">
        {queries.map(({ query, at, rows, seconds }) => (
          <li key={at}>
            <button type="button" title={query} onClick={() => onChoose(query)}>
              <code>{query.replaceAll(/\s+/g, ' ')}</code>
              <span class="quiet">
                {formatMoment(at)} · {countValues(rows, 'row')} in {formatDuration(seconds)}
              </span>
            </button>
          </li>
        ))}
        <li>
          <button type="button" onClick={forgetQueries}>
            Clear the history
          </button>
        </li>
      </Menu>
    </div>
  );
}

const COLUMNS =
  "SELECT table_name, column_name, data_type, column_comment FROM information_schema.columns WHERE table_schema = 'main' ORDER BY table_name, ordinal_position";

const TYPES: Readonly<Record<string, string>> = {
  VARCHAR: 'text',
  DOUBLE: 'number',
  DATE: 'date',
  INTEGER: 'whole number',
  BOOLEAN: 'true or false',
};

/** Reads the views and their columns. @param store data store; undefined for the served store */
async function readTables(signal: AbortSignal, store: string | undefined): Promise<SqlTables> {
  const { data } = await service.value.call('runSql', { query: { store_id: store }, body: { query: COLUMNS }, signal });
  const tables: Record<string, SqlTableColumn[]> = {};
  for (const [table, column, type, meaning] of data)
    (tables[String(table)] ??= []).push({
      name: String(column),
      type: TYPES[String(type)] ?? String(type),
      meaning: String(meaning ?? ''),
    });
  return tables;
}

interface ViewsProps {
  readonly views: Resource<SqlTables>;
  readonly onChoose: (view: string) => void;
}

/** Renders the views that queries can read. A view opens to its columns with their types and meanings. */
function Views({ views, onChoose }: ViewsProps) {
  return (
    <Answered resource={views} what="the views">
      {(tables) => (
        <ul class="frame raised sql-views">
          {Object.entries(tables).map(([name, columns]) => (
            <li key={name}>
              <details>
                <summary>
                  <code>{name}</code> <span class="quiet">{countValues(columns.length, 'column')}</span>
                </summary>
                <dl class="small sql-columns">
                  {columns.map((column) => (
                    <div key={column.name}>
                      <dt>{column.name}</dt>
                      <dd>{column.type}</dd>
                      {column.meaning !== '' && <dd class="sql-meaning">{column.meaning}</dd>}
                    </div>
                  ))}
                </dl>
                <Button onClick={() => onChoose(name)}>Query {name}</Button>
              </details>
            </li>
          ))}
        </ul>
      )}
    </Answered>
  );
}

const SqlEditor = createLazyComponent(
  'the editor',
  async () => (await import('../../components/code/sql-editor.js')).SqlEditor,
);

/** Tables for completion before the views are loaded. */
const NO_TABLES = {};

/** Page for SQL queries over runs, prices and reference data, with a list of the views. */
export function SqlPage() {
  const requestedQuery = getParameter('q');
  const [query, setQuery] = useState(requestedQuery ?? EXAMPLES[0]!.query); // there is at least one example
  const store = getChosenStore();
  const views = useResource(`sql views ${store}`, (signal) => readTables(signal, store));
  const { result, trouble, isRunning, run, stop } = useQuery();
  const [isSent, setSent] = useState(requestedQuery !== null);
  useFirstRun(() => run(query, { isNoted: requestedQuery !== null }), store);
  const send = (text = query) => {
    if (text.trim() === '') return;
    setSent(true);
    setParameters({ q: text });
    void run(text);
  };
  const choose = (text: string) => {
    setQuery(text);
    send(text);
  };
  useRequestedQuery(requestedQuery, query, choose);
  const marks = useMemo(() => (trouble === null ? [] : createMarks(trouble)), [trouble]);
  return (
    <Page
      title="SQL"
      above={[{ address: '/console/data', text: 'Data' }]}
      subtitle={<GuideLink page="sql">Views, formats and limits</GuideLink>}
    >
      <div class="pile gap-4 sql">
        <div class="pile gap-2" role="group" aria-label="Query">
          <SqlEditor
            label="Query"
            value={query}
            lines={7}
            tables={views.data ?? NO_TABLES}
            marks={marks}
            onChange={setQuery}
            onRun={send}
          />
          <QueryActions {...{ query, isRunning, isSent }} onStop={stop} onSend={send} onChoose={choose} />
        </div>
        <div class="stack gap-4">
          {trouble !== null && isSent && <Problem trouble={addSentence(trouble)} />}
          {isRunning && <Wait what="the result" />}
          {result !== null && <Answer {...result} />}
          {!isSent && <Beginnings onChoose={choose} />}
        </div>
        <ViewsSection views={views} onChoose={choose} />
      </div>
    </Page>
  );
}

interface QueryActionsProps {
  readonly query: string;
  readonly isRunning: boolean;
  /** True if the user has sent a query. Until then, the examples are shown below the result. */
  readonly isSent: boolean;
  onStop(): void;
  onSend(): void;
  onChoose(query: string): void;
}

/** Renders the buttons below the editor: run or stop, examples, earlier queries and the data store. */
const QueryActions = ({ query, isRunning, isSent, onStop, onSend, onChoose }: QueryActionsProps) => (
  <div class="flow gap-2">
    {isRunning ? (
      <Button kind="main" onClick={onStop}>
        Stop
      </Button>
    ) : (
      <Button kind="main" disabled={query.trim() === ''} title="Ctrl Enter" onClick={() => onSend()}>
        Run
      </Button>
    )}
    {isSent && (
      <AddSelect
        label="Examples"
        prompt="Examples"
        options={EXAMPLES.map(({ title }) => ({ value: title, text: title }))}
        onAdd={(title) => onChoose(EXAMPLES.find((example) => example.title === title)?.query ?? query)}
      />
    )}
    <PastQueries onChoose={onChoose} />
    <StoreSelect />
    <span class="quiet sql-keys">Ctrl Enter runs the query; Ctrl Space completes names.</span>
  </div>
);

/**
 * Runs the query of the address when the page opens and when another data store is chosen. Without a query in the address,
 * this is the first example, which is not added to the history.
 */
function useFirstRun(run: () => Promise<void>, store: string | undefined): void {
  useEffect(() => {
    void run();
  }, [store]);
}

/** Runs the query of the address if it changes while the page is open, for example by the Back button. */
function useRequestedQuery(requested: string | null, query: string, choose: (query: string) => void): void {
  const latest = useRef(requested);
  useEffect(() => {
    if (requested === latest.current) return;
    latest.current = requested;
    if (requested !== null && requested !== query) choose(requested);
  }, [requested]);
}

interface ViewsSectionProps {
  readonly views: Resource<SqlTables>;
  readonly onChoose: (query: string) => void;
}

/** Renders the views. A click on a view queries it. */
const ViewsSection = ({ views, onChoose }: ViewsSectionProps) => (
  <Section title="Views">
    <Views views={views} onChoose={(view) => onChoose(`SELECT *\nFROM ${view}\nLIMIT 100`)} />
  </Section>
);

/** Renders the examples except the first, whose result is shown before the user sends a query. */
const Beginnings = ({ onChoose }: { readonly onChoose: (query: string) => void }) => (
  <Section title="Other examples" aside="or a view: it opens to its columns">
    <ul class="pile gap-3 sql-examples">
      {EXAMPLES.slice(1).map(({ title, help, query }) => (
        <li key={title}>
          <button type="button" title={query} onClick={() => onChoose(query)}>
            <span class="unseen">Run: </span>
            <strong>{title}</strong>
            <span class="quiet">{help}</span>
          </button>
        </li>
      ))}
    </ul>
  </Section>
);

/** If an error has only one finding, returns the error with the message of that finding. */
const addSentence = (trouble: Trouble): Trouble =>
  trouble.findings.length === 1 ? { ...trouble, message: trouble.findings[0]!.message } : trouble;

const createMarks = ({ findings }: Trouble) =>
  findings.flatMap(({ position, message }) => (position ? [{ at: position.start, message }] : []));

/** A result with its query, data store and duration. */
export interface AnsweredQuery {
  readonly query: string;
  /** Data store of the query; undefined for the served store. */
  readonly store: string | undefined;
  readonly result: SqlResult;
  readonly seconds: number;
}

function useQuery() {
  const [result, setResult] = useState<AnsweredQuery | null>(null);
  const [trouble, setTrouble] = useState<Trouble | null>(null);
  const running = useRef<AbortController | null>(null);
  const [isRunning, setRunning] = useState(false);
  const run = async (query: string, { isNoted = true } = {}) => {
    running.current?.abort();
    const controller = new AbortController();
    running.current = controller;
    setRunning(true);
    setTrouble(null);
    const start = performance.now();
    const store = getChosenStore();
    try {
      const answer = await service.value.call('runSql', {
        query: { store_id: store },
        body: { query },
        signal: controller.signal,
      });
      const seconds = (performance.now() - start) / 1000;
      if (isNoted) addQuery({ query, at: new Date().toISOString(), rows: answer.rows, seconds });
      if (running.current === controller) setResult({ query, store, result: answer, seconds });
    } catch (thrown) {
      if (controller.signal.aborted) return;
      setTrouble(createTrouble(thrown));
      setResult(null);
    } finally {
      if (running.current === controller) setRunning(false);
    }
  };
  const stop = () => {
    running.current?.abort();
    setRunning(false);
  };
  return { result, trouble, isRunning, run, stop };
}

/** Renders the rows of a query result and a chart of its numbers by date. A row opens to its full values. */
function Answer({ query, store, result, seconds }: AnsweredQuery) {
  const { columns, data, rows, truncated } = result;
  const resultRows = useMemo(() => data.map((values, no): ResultRow => ({ no, values })), [result]);
  const shownColumns = useMemo(() => createResultColumns(result), [result]);
  const [open, setOpen] = useState<ResultRow | null>(null);
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
              void tryAction(async () =>
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
    <figure class="pile frame raised gap-1 sql-bars">
      <figcaption class="quiet">
        {name} by {columns[0]?.name}
      </figcaption>
      <Bars label={`${name} by ${columns[0]?.name}`} bars={bars} isPlain format={write} />
    </figure>
  );
}
