import './home.css';
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type {
  DataStore,
  IndexDocumentBody,
  IndexSummary,
  JobStatus,
  RunSummaryRow,
  StoredStrategy,
} from '#clients/typescript/divisor.js';
import { ActionButton } from '../../components/controls/action-button.js';
import { Button, Icon, LinkButton } from '../../components/controls/button.js';
import {
  Answered,
  Badge,
  type BadgeKind,
  Banner,
  createAwaitedColumn,
  createLazyComponent,
  EmptyState,
  FiguresSkeleton,
  Findings,
  Problem,
  Progress,
  ValueSkeleton,
} from '../../components/feedback.js';
import { Page, Section } from '../../components/layout/page.js';
import { Sparkline } from '../../components/layout/sparkline.js';
import { type Column } from '../../components/table/model.js';
import { Table } from '../../components/table/table.js';
import {
  tryAction,
  cancelJob,
  findRefusal,
  formatRunSubject,
  type OnRefusal,
  type RefusedQuery,
  runIndex,
  useAsking,
} from '../../state/actions.js';
import { health, isOtherStore, liveJobs } from '../../state/live.js';
import { navigate } from '../../state/location.js';
import { describeRunLag, getBacktestRequest, isLater, STORE_BEHIND, useFailedRuns } from '../../state/runs.js';
import { may, notifyChange, service, useAnswer, useList } from '../../state/service.js';
import { isUnregistered, useStores } from '../../state/stores.js';
import { startTour } from '../../state/tour.js';
import { formatCompareAddress, formatIndexAddress, storeAddress } from '../../words/addresses.js';
import { computeSecondsBetween, formatDuration, formatMoment } from '../../words/dates.js';
import { describeDue, formatLag, findLag } from '../../words/freshness.js';
import { formatJobAddress, formatJobTitle, STATUS_KINDS } from '../../words/jobs.js';
import { formatLabel, returnText } from '../../words/labels.js';
import {
  countValues,
  formatChange,
  formatCount,
  formatDecimal,
  formatPercent,
  getSignClass,
} from '../../words/numbers.js';
import { isObject, type JsonObject } from '../../words/paths.js';
import { Coming } from '../calendar/coming.js';
import { createDocument, findStoreOfNew } from '../designer/draft.js';

const EXAMPLE_ID = 'EXAMPLE';

const EXAMPLE_COUNT = 30;

/** Returns the first definition of the designer. If the store has sizes, it is limited to the largest companies. */
async function createExampleDocument(): Promise<JsonObject> {
  const [{ stores }, market] = await Promise.all([service.value.call('listStores'), service.value.call('listFields')]);
  const first = createDocument(new Set(), { market, store: findStoreOfNew(stores) });
  const pipeline = isObject(first['pipeline']) ? first['pipeline'] : {};
  const largest = { id: 'largest', type: 'TopN', params: { field: 'MARKET_CAP', count: EXAMPLE_COUNT } };
  return {
    ...first,
    id: EXAMPLE_ID,
    name: 'Example index',
    pipeline: { ...pipeline, selection: market.fields.some(({ name }) => name === 'MARKET_CAP') ? [largest] : [] },
  };
}

/** Creates an example index on the served store and runs it. Then starts the tour on its page. */
async function createExample(onRefusal: OnRefusal): Promise<void> {
  const body = await tryAction(createExampleDocument, onRefusal);
  if (body === undefined) return;
  const createdIndex = await tryAction(
    () => service.value.call('createIndex', { body: body as unknown as IndexDocumentBody }), // the service validates the document
    onRefusal,
  );
  if (createdIndex === undefined) return;
  notifyChange();
  await runIndex(EXAMPLE_ID, {}, onRefusal);
  startTour(EXAMPLE_ID);
  navigate(formatIndexAddress(EXAMPLE_ID));
}

const ExampleIndex = () => <ActionButton act={createExample}>Create an example index</ActionButton>;

/** Index with a summary of its stored run. The summary is null before the first run. */
interface Row {
  readonly index: IndexSummary;
  readonly run: RunSummaryRow | null;
  /** False until the run summaries have been loaded. */
  readonly isKnown: boolean;
  /** Last run if it failed and is newer than the stored run; otherwise null. */
  readonly failed: JobStatus | null;
  /** True if the data store of the index is not registered. A run would be refused. */
  readonly isStoreMissing: boolean;
  readonly asking: RefusedQuery;
}

interface IndexToolsProps {
  readonly rows: readonly Row[];
  /** Ids of the selected indices. An empty list means all indices. */
  readonly selected: readonly string[];
  readonly asking: RefusedQuery;
}

/** Renders actions on the selected indices. If none is selected, the actions apply to all indices. */
function IndexTools({ rows, selected, asking }: IndexToolsProps) {
  const meant = selected.length === 0 ? rows : rows.filter(({ index }) => selected.includes(index.id));
  const running = new Set(liveJobs.value.map(({ job_id: id }) => id));
  const due = meant.filter(
    (row) =>
      row.isKnown &&
      !row.isStoreMissing &&
      (row.failed !== null || row.run === null || row.run.stale !== null) &&
      (selected.length > 0 || !isMoved(row)) &&
      !running.has(`backtest:${row.index.id}`),
  );
  const dueGroups = groupDue(due);
  const withRun = meant.filter(({ run }) => run !== null).map(({ index }) => index.id);
  const run = () =>
    asking.askAll(
      due.map(({ index, failed }) => ({
        about: formatRunSubject(index.id),
        request: (onRefusal) =>
          runIndex(index.id, failed === null ? { if_stale: true } : getBacktestRequest(failed), (trouble) =>
            onRefusal({ ...trouble, message: `${index.id}: ${trouble.message}` }),
          ),
      })),
    );
  return (
    <>
      {due.length > 1 && may('run') && (
        <Button kind="bare" title={listIds(dueGroups).join('. ')} onClick={() => void run()}>
          Run {countByReason(dueGroups)}
          {due.some(isMoved) && ` on ${health.value?.store?.active}`}
        </Button>
      )}
      {selected.length > 1 && withRun.length > 1 && (
        <LinkButton kind="bare" href={formatCompareAddress(withRun)}>
          Compare {withRun.length}
        </LinkButton>
      )}
    </>
  );
}

/**
 * Returns true if a run would replace the results on another store by results on the served store. Such an index is run
 * only if it is selected.
 */
const isMoved = ({ run, failed }: Row): boolean => failed === null && run?.stale?.store_id != null;

/** Reasons to run an index, in the order of the button. */
const REASONS = ['stale', 'failed', 'unreadable', 'new'] as const;

const getReason = ({ index, run, failed }: Row): (typeof REASONS)[number] => {
  if (failed !== null) return 'failed';
  return run !== null ? 'stale' : index.has_run ? 'unreadable' : 'new';
};

interface DueGroup {
  readonly reason: (typeof REASONS)[number];
  readonly ids: readonly string[];
}

/** Groups indices by the reason to run them. */
const groupDue = (due: readonly Row[]): readonly DueGroup[] =>
  REASONS.map((reason) => ({
    reason,
    ids: due.filter((row) => getReason(row) === reason).map(({ index }) => index.id),
  })).filter(({ ids }) => ids.length > 0);

/** Counts the indices to run by reason, for example `3 stale, 1 failed and 2 new indices`. */
function countByReason(groups: readonly DueGroup[]): string {
  const counts = new Intl.ListFormat('en-GB').format(groups.map(({ reason, ids }) => `${ids.length} ${reason}`));
  return `${counts} ${groups.at(-1)?.ids.length === 1 ? 'index' : 'indices'}`;
}

const listIds = (groups: readonly DueGroup[]): readonly string[] =>
  groups.map(({ reason, ids }) => `${formatLabel(reason)}: ${ids.join(', ')}`);

interface RunButtonProps {
  readonly id: string;
  /** Last run if it failed. The button then repeats the failed request. */
  readonly failed: JobStatus | null;
  /** Requests and errors of the table. An error is shown in full above the table. */
  readonly asking: RefusedQuery;
}

/** Renders a button that runs the index of a row. An error is shown in the row. */
function RunButton({ id, failed, asking }: RunButtonProps) {
  const refusal = asking.trouble === null ? null : findRefusal(formatRunSubject(id));
  return (
    <>
      {refusal !== null && (
        <Badge kind="bad" title={refusal.message}>
          refused
        </Badge>
      )}
      {may('run') && (
        <Button
          kind="bare"
          aria-label={`Run ${id}`}
          title={`Run ${id}`}
          onClick={() =>
            void asking.ask(formatRunSubject(id), (onRefusal) =>
              runIndex(id, failed === null ? { if_stale: true } : getBacktestRequest(failed), onRefusal),
            )
          }
        >
          <Icon name="play" />
        </Button>
      )}
    </>
  );
}

interface IndexTableProps {
  readonly indices: readonly IndexSummary[];
  readonly skipped: number;
  readonly hasData: boolean;
}

function IndexTable({ indices, skipped, hasData }: IndexTableProps) {
  const runs = useList('summaries');
  const byId = new Map(runs.data?.summaries.map((run) => [run.index_id, run]));
  const failures = useFailedRuns();
  const stores = useStores();
  const asking = useAsking();
  const [selected, setSelected] = useState<readonly string[]>([]);
  const rows = indices.map((index): Row => {
    const failedJob = failures.get(index.id);
    return {
      index,
      asking,
      run: byId.get(index.id) ?? null,
      isKnown: runs.data !== undefined,
      isStoreMissing: isUnregistered(stores.data?.stores, index.store_id),
      failed: failedJob !== undefined && isLater(failedJob, index.run_at) ? failedJob : null,
    };
  });
  if (rows.length === 0) return hasData ? <NoIndex /> : null;
  // A service that is starting will answer later.
  const isWaited = runs.data === undefined && (runs.isLoading || runs.trouble?.retrySeconds != null);
  const columns = isWaited
    ? COLUMNS.map((column) => (INDEX_COLUMNS.has(column.id) ? column : createAwaitedColumn(column)))
    : COLUMNS;
  return (
    <>
      {asking.troubles.map((trouble) => (
        <Problem key={trouble.message} trouble={trouble} />
      ))}
      <Table
        label="indices"
        name="indices"
        columns={columns.filter(({ id }) => rows.some(OPTIONAL_COLUMNS.get(id) ?? (() => true)))}
        rows={rows}
        getKey={({ index }) => index.id}
        formatAddress={({ index }) => formatIndexAddress(index.id)}
        searchIn={({ index }) =>
          `${index.id} ${index.name} ${index.currency} ${index.calendar} ${index.store_id ?? ''} ${index.tags.join(' ')}`
        }
        selection={{ keys: selected, onChange: setSelected }}
        tools={<IndexTools rows={rows} selected={selected} asking={asking} />}
        sort={{ column: 'index', direction: 'asc' }}
        height={720}
      />
      {skipped > 0 && (
        <p class="quiet">
          {countValues(skipped, 'stored document')} cannot be read and {skipped === 1 ? 'is' : 'are'} left out.
        </p>
      )}
    </>
  );
}

function NoIndex() {
  return (
    <EmptyState
      title="No index yet"
      action={
        may('write') && (
          <>
            <LinkButton kind="main" href="/console/indices/new">
              <Icon name="plus" /> New index
            </LinkButton>
            <LinkButton href="/console/indices/templates">Choose a template</LinkButton>
            {may('run') && <ExampleIndex />}
          </>
        )
      }
    >
      An index is a universe, selection rules and a weighting. The designer shows the resulting constituents while you
      edit. The example is created and run on the served market, and a tour of five steps explains its pages.
    </EmptyState>
  );
}

const renderWithSign = (value: number | null | undefined) => (
  <span class={`number ${getSignClass(value)}`}>{formatChange(value)}</span>
);

/** Columns that do not depend on a run. */
const INDEX_COLUMNS: ReadonlySet<string> = new Set(['index', 'store', 'tags']);

/** Columns that are shown only if a row has a value, or a store other than the active one. */
const OPTIONAL_COLUMNS: ReadonlyMap<string, (row: Row) => boolean> = new Map([
  ['store', ({ index }) => isOtherStore(index.store_id)],
  ['tags', ({ index }) => index.tags.length > 0],
]);

const COLUMNS: readonly Column<Row>[] = [
  {
    id: 'index',
    title: 'Index',
    width: 138,
    ideal: 300,
    grow: 12,
    value: ({ index }) => index.id,
    show: ({ index, ...row }) => (
      <span class="gap-2 home-index">
        <span class={`dot home-dot ${describeState({ index, ...row }).kind}`} />
        <a href={formatIndexAddress(index.id)} tabIndex={-1}>
          {index.id}
        </a>
        <span class="quiet" title={index.name}>
          {index.name}
        </span>
      </span>
    ),
  },
  {
    id: 'store',
    title: 'Store',
    help: 'Data store on which the index is computed. Empty: the served store',
    width: 84,
    priority: 2,
    below: 'nothing',
    value: ({ index }) => index.store_id,
  },
  {
    id: 'tags',
    title: 'Tags',
    width: 70,
    priority: 6,
    value: ({ index }) => index.tags.join(', ') || null,
    groups: ({ index }) => index.tags,
  },
  {
    id: 'trace',
    title: '1-year chart',
    width: 90,
    priority: 4,
    below: 'nothing',
    value: ({ run }) => run?.index?.total_return ?? null,
    show: ({ run }) =>
      run?.index && <Sparkline values={run.index.trace.data} label={`${run.index_id}, the last year`} />,
  },
  {
    id: 'level',
    title: 'Level',
    help: 'Index level on the last date of the run, in the return variant of the definition',
    width: 80,
    align: 'right',
    value: ({ run }) => run?.level ?? null,
    show: ({ run }) => (
      <span class="number" title={run === null ? undefined : returnText(run.return_variant)}>
        {formatDecimal(run?.level)}
      </span>
    ),
  },
  {
    id: 'end',
    title: 'As of',
    help: 'Last date of the run, which applies to level and returns',
    width: 98,
    priority: 2,
    value: ({ run }) => run?.end ?? null,
    below: 'text',
    showBelow: ({ index, run }) => [run?.end, index.name].filter(Boolean).join(' · '),
  },
  {
    id: 'day',
    title: 'Day',
    help: 'Return of the index in the last session',
    width: 68,
    priority: 3,
    value: ({ run }) => run?.index?.day_return ?? null,
    write: renderWithSign,
  },
  {
    id: 'ytd',
    title: 'YTD',
    help: 'Return of the index since the end of the calendar year before',
    width: 72,
    value: ({ run }) => run?.index?.year_to_date ?? null,
    write: renderWithSign,
  },
  {
    id: 'year',
    title: '1Y',
    help: 'Return of the index since the same day one year earlier, or since its first date',
    width: 72,
    priority: 3,
    below: 'nothing',
    value: ({ run }) => findYearReturn(run),
    write: renderWithSign,
  },
  {
    id: 'volatility',
    title: 'Vol. 1Y',
    help: 'Realised annualised volatility over the last 252 returns',
    width: 76,
    priority: 5,
    below: 'nothing',
    align: 'right',
    value: ({ run }) => run?.index?.volatility ?? null,
    show: ({ run }) => <span class="number">{formatPercent(run?.index?.volatility)}</span>,
  },
  {
    id: 'drawdown',
    title: 'Max DD',
    help: 'Largest drawdown of the index since its base date',
    width: 76,
    priority: 4,
    below: 'nothing',
    value: ({ run }) => run?.index?.max_drawdown ?? null,
    write: formatPercent,
  },
  {
    id: 'last',
    title: 'Rebalanced',
    width: 96,
    priority: 8,
    below: 'nothing',
    value: ({ run }) => run?.last_rebalance ?? null,
  },
  {
    id: 'next',
    title: 'Next',
    help: 'Next scheduled rebalance that is not part of the run',
    width: 96,
    priority: 9,
    below: 'nothing',
    value: ({ run }) => run?.coming_rebalance ?? null,
  },
  {
    id: 'state',
    title: 'State',
    width: 192,
    grow: 2,
    priority: 1,
    showBelow: formatStateBelow,
    value: (row) => KINDS.indexOf(describeState(row).kind),
    copy: (row) => describeState(row).text,
    show: State,
  },
];

interface RowState {
  readonly text: string;
  readonly kind: BadgeKind;
  readonly title?: string;
}

/** Kinds of states in the order of urgency. */
const KINDS: readonly BadgeKind[] = ['good', 'warning', 'plain', 'bad'];

/** Describes the state of an index in the words that are used at all widths. */
function describeState({ index, run, failed, isStoreMissing }: Row): RowState {
  if (failed !== null) return { text: 'run failed', kind: 'bad', title: failed.error?.message ?? failed.message };
  if (run === null && index.has_run) return { text: 'cannot be read', kind: 'bad' };
  if (run === null && isStoreMissing) return { text: 'store missing', kind: 'warning' };
  if (run === null) return { text: 'never run', kind: 'plain' };
  const lag = describeRunLag(run.stale, index.store_id);
  return lag === null ? { text: 'up to date', kind: 'good' } : { ...lag, kind: 'warning' };
}

/** Returns the state for the second line of a row, with the store of the index if it is not the served one and fits. */
function formatStateBelow(row: Row): string {
  const { text } = describeState(row);
  const { store_id: store } = row.index;
  return isOtherStore(store) && text !== STORE_BEHIND ? `${text} · store ${store}` : text;
}

function State(row: Row) {
  const { index, run, isKnown, failed, isStoreMissing, asking } = row;
  const job = liveJobs.value.find(({ job_id: id }) => id === `backtest:${index.id}`);
  if (job !== undefined)
    return (
      <span class="home-running" title={job.message}>
        <span>{job.status === 'pending' ? 'waiting' : formatPercent(job.progress, 0)}</span>
        <Progress value={job.progress} label={`Backtest of ${index.id}`} />
      </span>
    );
  if (!isKnown) return null;
  const { text, kind, title } = describeState(row);
  const isDue = failed !== null || (run === null ? !index.has_run : run.stale !== null);
  return (
    <span class="gap-1 home-state">
      <Badge kind={kind} title={title}>
        {text}
      </Badge>
      {isDue && !isStoreMissing && <RunButton id={index.id} failed={failed} asking={asking} />}
    </span>
  );
}

/** Returns the return over the last year of a run; null if there is no run. */
function findYearReturn(run: RunSummaryRow | null): number | null {
  const levels = run?.index?.trace.data;
  const [first, last] = [levels?.[0], levels?.at(-1)];
  return first == null || last == null ? null : last / first - 1;
}

const SHOWN_MAX = 6;

function LatestJobs() {
  const jobs = useAnswer(
    'listJobs',
    { query: { status: ['succeeded', 'failed'], limit: SHOWN_MAX } },
    { isLater: true },
  );
  if (jobs.data === undefined || jobs.data.jobs.length === 0) return null;
  return (
    <Section title="Latest results" aside={<a href="/console/jobs">Jobs</a>}>
      <ul class="bare-list latest-jobs">
        {jobs.data.jobs.map((job) => (
          <li key={job.job_id}>
            <a
              href={
                job.status === 'succeeded'
                  ? formatJobAddress(job)
                  : `/console/jobs?job=${encodeURIComponent(job.job_id)}`
              }
            >
              {formatJobTitle(job)}
            </a>
            <span class="quiet number">{formatMoment(job.finished_at)}</span>
            <Badge kind={STATUS_KINDS[job.status]}>{job.status}</Badge>
          </li>
        ))}
      </ul>
    </Section>
  );
}

/** Strategy with a summary of its stored run. The summary is null before the first run. */
interface HomeRow {
  readonly stored: StoredStrategy;
  readonly run: RunSummaryRow | null;
  /** Last run if it failed and is newer than the stored run; otherwise null. */
  readonly failed: JobStatus | null;
  readonly asking: RefusedQuery;
}

/** Renders the strategies: portfolios that follow an index under their own terms. Renders nothing if there are none. */
function Strategies() {
  const strategies = useList('strategies');
  const runs = useList('summaries');
  const failures = useFailedRuns();
  const asking = useAsking();
  const all = strategies.data?.strategies ?? [];
  if (all.length === 0 || runs.data === undefined) return null;
  const byId = new Map(runs.data?.summaries.map((run) => [run.index_id, run]));
  return (
    <Section title="Strategies">
      {asking.trouble !== null && <Problem trouble={asking.trouble} />}
      <Table
        label="strategies"
        name="strategies"
        columns={HOME_COLUMNS}
        rows={all.map((stored): HomeRow => {
          const run = byId.get(stored.strategy.id) ?? null;
          const failedJob = failures.get(stored.strategy.id);
          return {
            stored,
            run,
            asking,
            failed: failedJob !== undefined && isLater(failedJob, run?.run_at) ? failedJob : null,
          };
        })}
        getKey={({ stored }) => stored.strategy.id}
        formatAddress={({ stored }) => formatIndexAddress(stored.strategy.id)}
        sort={{ column: 'strategy', direction: 'asc' }}
        height={400}
      />
    </Section>
  );
}

const HOME_COLUMNS: readonly Column<HomeRow>[] = [
  {
    id: 'strategy',
    title: 'Strategy',
    width: 132,
    grow: 3,
    value: ({ stored }) => stored.strategy.id,
    show: ({ stored: { strategy } }) => (
      <span class="gap-2 home-index">
        <a href={formatIndexAddress(strategy.id)} tabIndex={-1}>
          {strategy.id}
        </a>
        <span class="quiet">{strategy.name}</span>
      </span>
    ),
  },
  {
    id: 'index',
    title: 'Follows',
    width: 130,
    priority: 3,
    value: ({ stored }) => stored.strategy.index_id,
    showBelow: ({ stored: { strategy } }) => `${strategy.name}, follows ${strategy.index_id}`,
  },
  {
    id: 'level',
    title: 'Level',
    help: '100 at the start of the run',
    width: 92,
    align: 'right',
    value: ({ run }) => run?.level ?? null,
    show: ({ run }) => <span class="number">{formatDecimal(run?.level)}</span>,
  },
  {
    id: 'return',
    title: 'Total',
    help: 'Return over the whole run',
    width: 90,
    priority: 2,
    align: 'right',
    value: ({ run }) => run?.total_return ?? null,
    show: ({ run }) => (
      <span class={`number ${getSignClass(run?.total_return)}`}>{formatChange(run?.total_return)}</span>
    ),
  },
  {
    id: 'state',
    title: 'State',
    width: 140,
    grow: 1,
    value: ({ stored, run, failed }) =>
      stored.problems.length > 0 ? 4 : failed !== null ? 3 : run === null ? 2 : run.stale === null ? 0 : 1,
    show: ({ stored: { strategy, problems }, run, failed, asking }) => (
      <span class="gap-1 home-state">
        {problems.length > 0 ? (
          <Badge kind="bad" title={problems.map(({ message }) => message).join(' ')}>
            {countValues(problems.length, 'problem')}
          </Badge>
        ) : failed !== null ? (
          <Badge kind="bad" title={failed.error?.message ?? failed.message}>
            run failed
          </Badge>
        ) : run === null ? (
          <Badge>never run</Badge>
        ) : run.stale === null ? (
          <Badge kind="good">up to date</Badge>
        ) : (
          <Badge kind="warning" title={run.stale.reasons.join(' ')}>
            stale
          </Badge>
        )}
        {problems.length === 0 && (failed !== null || run?.stale !== null) && (
          <RunButton id={strategy.id} failed={failed} asking={asking} />
        )}
      </span>
    ),
  },
];

function RunningJobs() {
  const jobs = liveJobs.value;
  if (jobs.length === 0) return null;
  return (
    <Section title="Running" aside={jobs.length > SHOWN_MAX && <a href="/console/jobs">All {jobs.length}</a>}>
      <ul class="frame raised job-list">
        {jobs.slice(0, SHOWN_MAX).map((job) => (
          <li key={job.job_id}>
            <a href={formatJobAddress(job)}>{formatJobTitle(job)}</a>
            <span class="quiet cut job-message">{job.message}</span>
            <Progress value={job.progress} label={formatJobTitle(job)} />
            <span class="number">{job.status === 'pending' ? 'waiting' : formatPercent(job.progress, 0)}</span>
            <span class="quiet number job-time">
              {formatDuration(computeSecondsBetween(job.started_at ?? job.created_at, null))}
            </span>
            {may('run') && (
              <Button kind="bare" onClick={() => cancelJob(job.job_id)} aria-label={`Cancel ${formatJobTitle(job)}`}>
                Cancel
              </Button>
            )}
          </li>
        ))}
      </ul>
    </Section>
  );
}

const HOME_KINDS: Readonly<Record<DataStore['kind'], string>> = {
  folder: 'folder',
  database: 'database',
  imported: 'imported',
  synthetic: 'synthetic',
};

/** Renders the number of securities, the dates and the data warnings of the served store. */
function ServedStore({ store }: { readonly store: DataStore }) {
  const { store_id: id, name, kind, identifiers, start, end, last_loaded_at: loadedAt, status } = store;
  const dataStore = useAnswer('getStore', { params: { store_id: id } });
  const findings = dataStore.data?.findings ?? [];
  /** Formats a figure. While a store is loading, it has neither dates nor counts. */
  function renderValue<T extends string | number>(
    value: T | null,
    text: (value: T) => string = String,
  ): ComponentChildren {
    if (value !== null) return text(value);
    return status === 'loading' ? <ValueSkeleton /> : '–';
  }
  const lag = findLag(health.value?.freshness, id);
  const warnings = findings.filter(({ severity }) => severity !== 'info');
  return (
    <section class="flow frame raised served" aria-labelledby="served-title">
      <h2 id="served-title" class="served-title">
        Served market
      </h2>
      <div class="line gap-2 served-name">
        <a href={storeAddress(id)}>{name}</a>
        <Badge>{HOME_KINDS[kind]}</Badge>
        {status !== 'ready' && <Badge kind="warning">{status}</Badge>}
      </div>
      <dl class="wrap served-facts">
        <Fact term="Securities">{renderValue(identifiers, formatCount)}</Fact>
        <Fact term="From">{renderValue(start)}</Fact>
        <Fact term="To">
          {renderValue(end)}{' '}
          {lag !== undefined && lag.behind > 0 && (
            <Badge kind="warning" title={describeDue(lag)}>
              {formatLag(lag)}
            </Badge>
          )}
        </Fact>
        <Fact term="Read">{renderValue(loadedAt, formatMoment)}</Fact>
      </dl>
      {warnings.length > 0 && (
        <details class="served-doubts">
          <summary>{countValues(warnings.length, 'warning')} of the last read</summary>
          <Findings findings={warnings} />
        </details>
      )}
    </section>
  );
}

function Fact({ term, children }: { readonly term: string; readonly children: ComponentChildren }) {
  return (
    <div>
      <dt>{term}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** Shown only without data stores, so the first page of a service in use does not load it. */
const FirstSteps = createLazyComponent('the first steps', async () => (await import('./first-steps.js')).FirstSteps);

/** Returns true after a start of the service while it is loading the previously served store. */
const isBeingRead = (): boolean => health.value?.store.active === null && health.value.store.status === 'loading';

const BeingRead = () => (
  <>
    <Banner kind="info" title="The data store is being loaded after the restart." />
    <FiguresSkeleton />
  </>
);

/** Overview page: the served store, running jobs, and all indices with their states. */
export function Home() {
  const stores = useStores();
  const indices = useList('indices');
  const hasIndices = (indices.data?.indices.length ?? 0) > 0;
  return (
    <Page
      title="Indices"
      actions={
        may('write') && (
          <>
            <LinkButton href="/console/plugins">Plug-ins</LinkButton>
            <LinkButton href="/console/indices/templates">Templates</LinkButton>
            <LinkButton kind={hasIndices ? 'main' : 'plain'} href="/console/indices/new">
              <Icon name="plus" /> New index
            </LinkButton>
          </>
        )
      }
    >
      <Answered resource={stores} what="the data stores">
        {({ stores: all, active }) => {
          const servedStore = all.find(({ store_id: id }) => id === active);
          if (servedStore !== undefined) return <ServedStore store={servedStore} />;
          return isBeingRead() ? <BeingRead /> : <FirstSteps stores={all} />;
        }}
      </Answered>
      <RunningJobs />
      <Answered resource={indices} what="the indices">
        {({ indices: all, skipped }) => (
          <IndexTable
            indices={all}
            skipped={skipped}
            hasData={stores.data?.active != null && indices.trouble === null}
          />
        )}
      </Answered>
      <Strategies />
      {hasIndices && (
        <div class="pile gap-5 home-more">
          <Coming />
          <LatestJobs />
        </div>
      )}
    </Page>
  );
}
