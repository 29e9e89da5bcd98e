import type { StoredRun } from '#clients/typescript/divisor.js';
import { Badge } from '../../components/badge.js';
import { Select } from '../../components/choice.js';
import { Facts } from '../../components/facts.js';
import { Metrics } from '../../components/metrics.js';
import { Section } from '../../components/page.js';
import { Table } from '../../components/table/table.js';
import { createNumericColumn, type Column } from '../../components/table/columns.js';
import { Answered } from '../../components/wait.js';
import { formatAddress, getParameter, setParameters } from '../../state/location.js';
import { useSchemas, type Schemas } from '../../state/schemas.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { formatIndexAddress, storeAddress } from '../../words/addresses.js';
import { formatMoment } from '../../words/dates.js';
import { formatChange, formatDecimal, formatPercent, getSignClass } from '../../words/numbers.js';
import type { Json } from '../../words/paths.js';
import { RunDifference } from './run-difference.js';
import { RunLevels } from './run-levels.js';
import { formatRunChange, IDENTICAL } from './run-change.js';
import { formatTerms } from './run-terms.js';

/** Renders the stored runs, newest first. Also renders a comparison of two runs: their levels, and why they differ. */
export function Runs({ id }: { readonly id: string }) {
  const list = useResource(`runs ${id}`, (signal) =>
    service.value.call('listRuns', { params: { index_id: id }, signal }),
  );
  const schemas = useSchemas();
  return (
    <div class="index-part">
      <Answered resource={list} what="the runs">
        {({ runs }) => (
          <>
            <Section
              title="Runs"
              aside={`a row opens the index at that run${runs.length > 1 ? '; two selected runs are compared below' : ''}`}
            >
              <Table
                label={`runs of ${id}`}
                name="runs"
                columns={createColumns({ id, runs, schemas: schemas.data }).filter(
                  ({ id: column }) =>
                    (column !== 'published' || runs.some(({ published }) => published)) &&
                    (column !== 'change' || runs.length > 1),
                )}
                rows={runs}
                getKey={({ run_id: run }) => run}
                formatAddress={({ run_id: run }) =>
                  formatAddress(formatIndexAddress(id), { run_id: run === runs[0]?.run_id ? null : run })
                }
                openKey={getParameter('run_id') ?? runs[0]?.run_id ?? null}
                sort={{ column: 'at', direction: 'desc' }}
                height={420}
                {...(runs.length > 1 ? { selection: { keys: listComparedKeys(runs), onChange: compare(runs) } } : {})}
              />
            </Section>
            <Open
              run={runs.find(({ run_id: run }) => run === getParameter('run_id')) ?? runs[0]}
              schemas={schemas.data}
            />
            {runs.length > 1 ? (
              <ComparedRuns id={id} runs={runs} />
            ) : (
              <p class="quiet">A comparison is available after the second run.</p>
            )}
          </>
        )}
      </Answered>
    </div>
  );
}

/** Returns the ids of the two runs in the address that are compared. */
const listComparedKeys = (runs: readonly StoredRun[]): readonly string[] =>
  ['run_from', 'run_to'].map(getParameter).filter((key): key is string => runs.some(({ run_id: run }) => run === key));

/** Stores in the address the two runs that were selected last: the earlier run and the later run. */
const compare =
  (runs: readonly StoredRun[]) =>
  (keys: readonly string[]): void => {
    const [first = null, second = null] = keys.slice(-2);
    const findPosition = (key: string | null) => runs.findIndex(({ run_id: run }) => run === key);
    const isLatestFirst = second !== null && findPosition(first) < findPosition(second);
    setParameters(isLatestFirst ? { run_from: second, run_to: first } : { run_from: first, run_to: second });
  };

interface OpenProps {
  readonly run: StoredRun | undefined;
  readonly schemas: Schemas | undefined;
}

/** Renders the figures, terms, data version and definition version of a run. */
function Open({ run, schemas }: OpenProps) {
  if (run === undefined) return null;
  const { metrics, start, end, store_id: store, store_version: data, index_version: version } = run;
  return (
    <Section title="This run" aside={`${start} to ${end}, the portfolio after costs`}>
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

/** Number of characters of an id that are shown. They distinguish runs that were started in the same minute. */
const ID_CHARACTERS = 4;

interface ComparedRunsProps {
  readonly id: string;
  /** At least two runs, newest first. */
  readonly runs: readonly StoredRun[];
}

/** Renders the comparison of two runs. If none are selected, these are the latest run and the run before it. */
function ComparedRuns({ id, runs }: ComparedRunsProps) {
  const findRun = (name: string) => runs.find(({ run_id: run }) => run === getParameter(name));
  const later = findRun('run_to') ?? runs[0]!; // there are at least two runs
  const earlier = findRun('run_from') ?? runs.find((run) => run !== later)!;
  const options = runs.map(({ run_id: value, run_at: runAt }) => ({
    value,
    text: `${formatMoment(runAt)}, ${value.slice(0, ID_CHARACTERS)}`,
  }));
  return (
    <Section
      title="Two runs compared"
      aside={
        <>
          <Select
            label="Earlier"
            isLabelShown
            options={options}
            value={earlier.run_id}
            onChoose={(run) => setParameters({ run_from: run })}
          />
          <Select
            label="Later"
            isLabelShown
            options={options}
            value={later.run_id}
            onChoose={(run) => setParameters({ run_to: run })}
          />
        </>
      }
    >
      {earlier === later ? (
        <p class="quiet">Choose two runs.</p>
      ) : (
        <RunLevels id={id} earlier={earlier.run_id} later={later.run_id}>
          <RunDifference id={id} from={earlier.run_id} to={later.run_id} version={later.index_version} />
        </RunLevels>
      )}
    </Section>
  );
}

const PUBLISHED_COLUMN: Column<StoredRun> = {
  id: 'published',
  title: 'Published',
  help: 'Closes of the run in the published log',
  width: 96,
  priority: 2,
  value: ({ published }) => Number(published),
  copy: ({ published }) => (published ? 'yes' : 'no'),
  show: ({ published }) => (published ? <Badge kind="info">published</Badge> : null),
};

/** @param runs all stored runs, newest first */
function createChangeColumn(runs: readonly StoredRun[]): Column<StoredRun> {
  const find = (run: StoredRun) => formatRunChange(run, runs[runs.indexOf(run) + 1]);
  return {
    id: 'change',
    title: 'Changed',
    help: 'Inputs that differ from the run before. A run with the same inputs has the same results.',
    width: 118,
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
  readonly schemas: Schemas | undefined;
}

const createColumns = ({ id, runs, schemas }: ColumnTerms): readonly Column<StoredRun>[] => [
  {
    id: 'at',
    title: 'Run',
    help: 'Time of the run, and the first characters of its id',
    width: 216,
    grow: 1,
    value: ({ run_at: runAt }) => runAt,
    show: ({ run_at: runAt, run_id: run }) => (
      <>
        {formatMoment(runAt, true)} <span class="quiet">{run.slice(0, ID_CHARACTERS)}</span>
      </>
    ),
  },
  PUBLISHED_COLUMN,
  createChangeColumn(runs),
  {
    id: 'id',
    title: 'Id',
    help: 'run_id of the API',
    width: 150,
    priority: 6,
    value: ({ run_id: run }) => run,
    show: ({ run_id: run }) => <code>{run}</code>,
  },
  { id: 'start', title: 'From', width: 96, priority: 5, value: ({ start }) => start },
  { id: 'end', title: 'To', width: 96, priority: 2, value: ({ end }) => end },
  {
    id: 'version',
    title: 'Version',
    help: 'Version of the definition',
    width: 76,
    priority: 3,
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
    priority: 4,
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
  { id: 'engine', title: 'Engine', width: 76, priority: 7, value: ({ engine_version: engine }) => engine },
  ...FIGURE_COLUMNS,
];

const FIGURE_COLUMNS: readonly Column<StoredRun>[] = [
  {
    id: 'return',
    title: 'Return',
    help: 'Of the portfolio over the whole run',
    width: 100,
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
    of: ({ metrics }) => metrics?.volatility ?? null,
    write: formatPercent,
  }),
];
