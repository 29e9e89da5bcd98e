import type { StoredRun } from '#clients/typescript/divisor.js';
import { Badge } from '../../components/badge.js';
import { Facts } from '../../components/facts.js';
import { Metrics } from '../../components/metrics.js';
import { Section } from '../../components/page.js';
import { Table } from '../../components/table/table.js';
import { createNumericColumn, type Column } from '../../components/table/columns.js';
import { Answered } from '../../components/wait.js';
import { formatAddress, getParameter } from '../../state/location.js';
import { useSchemas, type Schemas } from '../../state/schemas.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { formatIndexAddress, storeAddress } from '../../words/addresses.js';
import { formatMoment } from '../../words/dates.js';
import { formatChange, formatDecimal, formatPercent, getSignClass } from '../../words/numbers.js';
import type { Json } from '../../words/paths.js';
import {
  ComparedRuns,
  createComparedColumn,
  createSelection,
  findComparedRuns,
  formatRun,
  ID_CHARACTERS,
} from './compared-runs.js';
import { Reconciliation } from './reconciliation.js';
import { formatRunChange, IDENTICAL } from './run-change.js';
import { formatTerms } from './run-terms.js';

/** Renders the stored runs, newest first, a comparison of the two ticked runs, and the run that the page shows. */
export function Runs({ id }: { readonly id: string }) {
  const list = useResource(`runs ${id}`, (signal) =>
    service.value.call('listRuns', { params: { index_id: id }, signal }),
  );
  const schemas = useSchemas();
  return (
    <div class="index-part">
      <Answered resource={list} what="the runs">
        {({ runs }) => {
          const compared = findComparedRuns(runs);
          const shown = runs.find(({ run_id: run }) => run === getParameter('run_id')) ?? runs[0];
          return (
            <>
              <Section
                title="Runs"
                aside={`a row opens the index at that run${runs.length > 1 ? '; the two ticked runs are compared' : ''}`}
              >
                <Table
                  label={`runs of ${id}`}
                  name="runs"
                  columns={createColumns({ id, runs, compared, shown, schemas: schemas.data }).filter(
                    ({ id: column }) =>
                      (column !== 'published' || runs.some(({ published }) => published)) &&
                      (runs.length > 1 || (column !== 'change' && column !== 'compared')),
                  )}
                  rows={runs}
                  getKey={({ run_id: run }) => run}
                  formatAddress={({ run_id: run }) => formatRunAddress(id, run, runs)}
                  sort={{ column: 'at', direction: 'desc' }}
                  height={420}
                  oneLineMin={ONE_LINE_MIN}
                  {...(runs.length > 1 && { selection: createSelection(compared) })}
                />
              </Section>
              {runs.length > 1 ? (
                <ComparedRuns id={id} compared={compared} />
              ) : (
                <p class="quiet">A comparison is available after the second run.</p>
              )}
              <Open run={shown} schemas={schemas.data} />
              <Reconciliation id={id} />
            </>
          );
        }}
      </Answered>
    </div>
  );
}

/** Width in pixels from which a run with its terms fits into one line. */
const ONE_LINE_MIN = 900;

/** Returns the address of the index at a run. The newest run is shown without its id. */
const formatRunAddress = (id: string, run: string, runs: readonly StoredRun[]): string =>
  formatAddress(formatIndexAddress(id), { run_id: run === runs[0]?.run_id ? null : run });

interface OpenProps {
  readonly run: StoredRun | undefined;
  readonly schemas: Schemas | undefined;
}

/** Renders the figures, terms, data version and definition version of the run that the page shows. */
function Open({ run, schemas }: OpenProps) {
  if (run === undefined) return null;
  const { metrics, start, end, store_id: store, store_version: data, index_version: version } = run;
  return (
    <Section title={`Shown run, ${formatRun(run)}`} aside={`${start} to ${end}, the portfolio after costs`}>
      {metrics !== null && (
        <Metrics
          label="Figures of the run"
          metrics={[
            { term: 'Return', value: formatChange(metrics.total_return), kind: getSignClass(metrics.total_return) },
            { term: 'Annualised return', value: formatChange(metrics.annualised_return) },
            { term: 'Volatility', value: formatPercent(metrics.volatility) },
            { term: 'Sharpe ratio', value: formatDecimal(metrics.sharpe_ratio) },
            { term: 'Max drawdown', value: formatPercent(metrics.max_drawdown) },
          ]}
        />
      )}
      <Facts
        isWide
        facts={[
          ['Terms', formatTerms(run.request as Json, 'BacktestRequest', schemas)],
          ['Definition', version === null ? null : `version ${version}`],
          ['Data', store === null ? null : `${store}${data === null ? '' : `, version ${data}`}`],
          ['Engine', run.engine_version],
          ['Id', <code key="id">{run.run_id}</code>],
        ]}
      />
    </Section>
  );
}

const PUBLISHED_COLUMN: Column<StoredRun> = {
  id: 'published',
  title: 'Published',
  help: 'Closes of the run in the published log',
  width: 84,
  priority: 2,
  value: ({ published }) => Number(published),
  copy: ({ published }) => (published ? 'yes' : 'no'),
  show: ({ published }) => (published ? <Badge kind="info">published</Badge> : null),
};

const ID_COLUMN: Column<StoredRun> = {
  id: 'id',
  title: 'Id',
  help: 'run_id of the API',
  width: 150,
  priority: 6,
  below: 'nothing',
  value: ({ run_id: run }) => run,
  show: ({ run_id: run }) => <code>{run}</code>,
};

/** @param runs all stored runs, newest first */
function createChangeColumn(runs: readonly StoredRun[]): Column<StoredRun> {
  const find = (run: StoredRun) => formatRunChange(run, runs[runs.indexOf(run) + 1]);
  return {
    id: 'change',
    title: 'Changed',
    help: 'Inputs that differ from the run before. A run with the same inputs has the same results.',
    width: 108,
    priority: 2,
    value: find,
    show: (run) => (find(run) === IDENTICAL ? <Badge>{IDENTICAL}</Badge> : find(run)),
    showBelow: (run) => {
      const text = find(run);
      return text === IDENTICAL ? <Badge>{text}</Badge> : text !== null && `changed: ${text}`;
    },
  };
}

interface ColumnTerms {
  readonly id: string;
  /** All stored runs, newest first. */
  readonly runs: readonly StoredRun[];
  readonly compared: ReturnType<typeof findComparedRuns>;
  /** Run that the page shows. */
  readonly shown: StoredRun | undefined;
  readonly schemas: Schemas | undefined;
}

const createColumns = ({ id, runs, compared, shown, schemas }: ColumnTerms): readonly Column<StoredRun>[] => [
  {
    id: 'at',
    title: 'Run',
    help: 'Time of the run, and the first characters of its id',
    width: 232,
    grow: 1,
    value: ({ run_at: runAt }) => runAt,
    show: ({ run_at: runAt, run_id: run }) => (
      <>
        <a href={formatRunAddress(id, run, runs)} tabIndex={-1}>
          {formatMoment(runAt, true)}
        </a>{' '}
        <span class="quiet">{run.slice(0, ID_CHARACTERS)}</span>
      </>
    ),
  },
  createComparedColumn(compared, shown),
  PUBLISHED_COLUMN,
  createChangeColumn(runs),
  ID_COLUMN,
  { id: 'start', title: 'From', width: 96, priority: 5, below: 'nothing', value: ({ start }) => start },
  { id: 'end', title: 'To', width: 96, priority: 4, value: ({ end }) => end },
  {
    id: 'version',
    title: 'Version',
    help: 'Version of the definition',
    width: 64,
    priority: 2,
    align: 'right',
    value: ({ index_version: version }) => version,
    show: ({ index_version: version }) =>
      version === null ? null : (
        <a href={formatAddress(formatIndexAddress(id), { tab: 'versions', version: String(version) })} tabIndex={-1}>
          {version}
        </a>
      ),
  },
  {
    id: 'store',
    title: 'Data',
    help: 'Store, and version of its data',
    width: 150,
    priority: 5,
    grow: 1,
    value: ({ store_id: store }) => store,
    show: ({ store_id: store, store_version: version }) =>
      store === null ? null : (
        <a href={storeAddress(store)} tabIndex={-1}>
          {store}
          {version !== null && ` v${version}`}
        </a>
      ),
  },
  {
    id: 'terms',
    title: 'Terms',
    help: 'Terms that differ from the defaults',
    width: 130,
    ideal: 310,
    priority: 3,
    grow: 4,
    value: ({ request }) => formatTerms(request as Json, 'BacktestRequest', schemas),
  },
  {
    id: 'engine',
    title: 'Engine',
    width: 76,
    priority: 7,
    below: 'nothing',
    value: ({ engine_version: engine }) => engine,
  },
  ...FIGURE_COLUMNS,
];

const FIGURE_COLUMNS: readonly Column<StoredRun>[] = [
  {
    id: 'return',
    title: 'Return',
    help: 'Of the portfolio over the whole run',
    width: 80,
    align: 'right',
    value: ({ metrics }) => metrics?.total_return ?? null,
    show: ({ metrics }) => (
      <span class={`number ${getSignClass(metrics?.total_return)}`}>{formatChange(metrics?.total_return)}</span>
    ),
  },
  createNumericColumn({
    id: 'volatility',
    title: 'Volatility',
    help: 'Annualised standard deviation of daily returns',
    width: 84,
    priority: 6,
    below: 'nothing',
    of: ({ metrics }) => metrics?.volatility ?? null,
    write: formatPercent,
  }),
];
