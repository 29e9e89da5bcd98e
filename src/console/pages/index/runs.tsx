import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import type { JobStatus, ReconciliationView, RunsDifference, StoredRun } from '#clients/typescript/divisor.js';
import { Chart } from '../../components/chart/chart.js';
import { layerCovered, type Line } from '../../components/chart/series.js';
import { ActionButton } from '../../components/controls/action-button.js';
import { Answered, Badge } from '../../components/feedback.js';
import { type Schemas, useSchemas } from '../../components/form/schema-form.js';
import { JobState } from '../../components/jobs.js';
import { Bars } from '../../components/layout/bars.js';
import { Facts, type LabelledFigure, Metrics } from '../../components/layout/facts.js';
import { Section } from '../../components/layout/page.js';
import { MayNot } from '../../components/permission.js';
import { type Column, type SelectedRows } from '../../components/table/model.js';
import { Table } from '../../components/table/table.js';
import { ChangeTable, WrittenTable } from '../../components/versions/change-table.js';
import { readVersion } from '../../components/versions/history.js';
import { type OnRefusal, submitJob } from '../../state/actions.js';
import { getJob } from '../../state/live.js';
import { formatAddress, getParameter, setParameters } from '../../state/location.js';
import { readShownRun } from '../../state/runs.js';
import { may, service, useAnswer, useResource } from '../../state/service.js';
import { formatIndexAddress, storeAddress } from '../../words/addresses.js';
import { formatMoment } from '../../words/dates.js';
import {
  countValues,
  formatChange,
  formatCount,
  formatDecimal,
  formatFigure,
  formatPercent,
  formatPoints,
  formatResidual,
  getSignClass,
} from '../../words/numbers.js';
import { isObject, type Json, type JsonObject } from '../../words/paths.js';
import { formatRunChange, IDENTICAL } from './changed-terms.js';
import { rebaseTo100 } from './performance.js';
import { formatTerms } from './run-settings.js';

interface RunDifferenceProps {
  readonly id: string;
  /** Id of the earlier run. The next field is the id of the later run. */
  readonly from: string;
  readonly to: string;
  /** Definition version of the later run; null if unknown. */
  readonly version: number | null;
}

/** Renders the last comparison if it is of these two runs. Otherwise renders a button that starts the comparison. */
function RunDifference({ id, from, to, version }: RunDifferenceProps) {
  const last = useResource(`run difference ${id}`, (signal) => readLastComparison(id, signal));
  const submit = (onRefusal: OnRefusal) =>
    submitJob(() => service.value.call('diffRuns', { params: { index_id: id }, body: { from, to } }), onRefusal).then(
      last.reload,
    );
  return (
    <Answered resource={last} what="the comparison of runs">
      {(stored) => {
        const job = stored === null ? null : { ...stored, ...getJob(stored.job_id), result: stored.result };
        if (job === null || !comparesRuns(job, { from, to }))
          return may('run') ? (
            <div>
              <ActionButton kind="main" act={submit}>
                Find the causes
              </ActionButton>
            </div>
          ) : (
            <MayNot scope="run" what="compare runs" />
          );
        const result = job.result as RunsDifference | null; // the kind of the job determines the type of its result
        return result === null ? (
          <JobState job={job} onAgain={submit} />
        ) : (
          <Difference found={result} of={{ id, version }} />
        );
      }}
    </Answered>
  );
}

/** Returns the comparison job of an index; null if there is none. The service stores only the last comparison. */
async function readLastComparison(id: string, signal: AbortSignal): Promise<JobStatus | null> {
  const { jobs } = await service.value.call('listJobs', { query: { kind: ['diff'], limit: LISTED_MAX }, signal });
  const isListed = jobs.some(({ job_id: job }) => job === `diff:${id}`);
  return isListed ? service.value.call('getJob', { params: { job_id: `diff:${id}` }, signal }) : null;
}

/** Maximum number of jobs in a response. */
const LISTED_MAX = 500;

function comparesRuns({ request }: JobStatus, { from, to }: Pick<RunDifferenceProps, 'from' | 'to'>): boolean {
  const runRequest = request as Json;
  return isObject(runRequest) && runRequest['from'] === from && runRequest['to'] === to;
}

const CAUSES = { definition: 'Definition', request: 'Terms of the run', data: 'Data', engine: 'Engine' } as const;

interface DifferenceProps {
  readonly found: RunsDifference;
  readonly of: Pick<RunDifferenceProps, 'id' | 'version'>;
}

function Difference({ found, of: { id, version } }: DifferenceProps) {
  const storedVersion = useResource(version === null ? null : `version index ${id} ${version}`, (signal) =>
    readVersion({ kind: 'index', id }, version!, signal),
  );
  const { same_levels: isSame, first_difference: first, largest, effects, total_return: total } = found;
  const { definition, request, data, engine, effects_reason: reason } = found;
  return (
    <>
      <Facts
        facts={[
          ['Levels', isSame ? 'identical on every date' : 'differ'],
          ['First date that differs', first],
          [
            'Largest difference',
            largest &&
              `${formatDecimal(largest.from)} → ${formatDecimal(largest.to)} on ${largest.date}, both 100 at their start`,
          ],
          ['Return of the later run minus that of the earlier run', formatChange(total, 4)],
          ['Engine', engine.from === engine.to ? engine.from : `${engine.from} → ${engine.to}`],
          ['Data store', formatStores(data.stores)],
        ]}
      />
      <h3>Causes</h3>
      {effects === null ? (
        <p class="quiet">The effect of each cause is not available. {reason}</p>
      ) : effects.length === 0 ? (
        <p class="quiet">The runs have the same definition, request, data and engine.</p>
      ) : (
        <Bars
          label="Effect of each cause on the total return"
          bars={[
            ...effects.map(({ cause, total_return: value }) => ({ label: CAUSES[cause], value })),
            { label: 'Total', value: total, isTotal: true },
          ]}
          isRunning
          format={(value) => formatChange(value, 4)}
        />
      )}
      {definition.length > 0 && <h3>Definition</h3>}
      {definition.length > 0 && (
        <ChangeTable
          label="Changes of the definition"
          changes={definition}
          document={storedVersion.data as JsonObject | undefined}
        />
      )}
      {request.length > 0 && <h3>Terms of the run</h3>}
      {request.length > 0 && <ChangeTable label="Changes of the terms" changes={request} />}
      {data.cells !== 0 && <h3>Data</h3>}
      <Cells data={data} />
    </>
  );
}

const formatStores = ({ from, to }: RunsDifference['data']['stores']): string | null =>
  from === to ? from : `${from ?? 'not known'} → ${to ?? 'not known'}`;

function Cells({ data: { cells, first, reason } }: Pick<RunsDifference, 'data'>) {
  if (cells === 0) return null;
  if (cells === null) return <p class="quiet">The list of differing values is not available. {reason}</p>;
  const formatValue = (value: unknown) => (value === null ? '–' : String(value));
  return (
    <>
      <p class="quiet">
        {formatCount(cells)} values differ{cells > first.length && `; the first ${formatCount(first.length)} of them`}.
      </p>
      <WrittenTable label="Values that differ" heads={['Table', 'Security', 'Date', 'Field', 'Before', 'After']}>
        {first.map(({ table, identifier, date, field, before, after }) => (
          <tr key={`${table} ${identifier} ${date} ${field}`}>
            <td>{table}</td>
            <th scope="row">{identifier}</th>
            <td>{date ?? 'always'}</td>
            <td>{field}</td>
            <td>{formatValue(before)}</td>
            <td>{formatValue(after)}</td>
          </tr>
        ))}
      </WrittenTable>
    </>
  );
}

const LINE_COLOURS = { later: 1, earlier: 2 } as const;

interface RunLevelsProps {
  readonly id: string;
  readonly earlier: StoredRun;
  readonly later: StoredRun;
  /** Causes of a difference, which are rendered if they are not known yet. */
  readonly children: ComponentChildren;
}

/**
 * Renders the portfolios of two runs after costs, rebased to 100 at their first common date. Also renders the later run
 * divided by the earlier run.
 */
function RunLevels({ id, earlier, later, children }: RunLevelsProps) {
  const levels = useResource(
    `run levels ${id} ${earlier.run_id} ${later.run_id}`,
    (signal) => Promise.all([earlier, later].map((run) => readLevels(id, run, signal))),
    { keeps: true },
  );
  return (
    <Answered resource={levels} what="the levels of the runs">
      {([first, second]) => (
        <Lines id={id} first={first!} second={second!}>
          {children}
        </Lines>
      )}
    </Answered>
  );
}

interface Levels {
  readonly index: readonly string[];
  readonly data: readonly (number | null)[];
}

interface RunSeries {
  /** Levels of the portfolio, 100 at the start. */
  readonly portfolio: Levels;
  readonly points: Levels;
  /** Base value of the definition that the run used; null if unknown. */
  readonly baseValue: number | null;
}

async function readLevels(id: string, run: StoredRun, signal: AbortSignal): Promise<RunSeries> {
  const { run_id: runId, index_version: version } = run;
  const request = { params: { index_id: id }, query: { run_id: runId }, signal };
  const [{ level: portfolio }, { levels: points }, document] = await Promise.all([
    service.value.call('getOverview', request),
    service.value.call('getLevels', request),
    // A strategy has no base value, and a deleted version cannot be read.
    version === null ? null : readVersion({ kind: 'index', id }, version, signal).catch(() => null),
  ]);
  const baseValue = (document as { readonly base_value?: unknown } | null)?.base_value;
  return { portfolio, points, baseValue: typeof baseValue === 'number' ? baseValue : null };
}

interface LinesProps extends Pick<RunLevelsProps, 'id' | 'children'> {
  readonly first: RunSeries;
  readonly second: RunSeries;
}

function Lines({ id, first, second, children }: LinesProps) {
  const { dates, levels, ratio } = useMemo(() => draw(first.portfolio, second.portfolio), [first, second]);
  const scaled = findScaledLevel(first.points, second.points);
  const isSame = ratio.every(({ values }) => values.every((value) => value === null || value === BASE_LEVEL));
  const cause = scaled === null ? null : formatCause(first, second, scaled);
  return (
    <>
      {isSame && (
        <p>
          {scaled === null
            ? 'No difference: the levels of both runs are the same on every date.'
            : `The returns of both runs are the same on every date. The index levels of the later run are those of the earlier run times ${formatFigure(scaled.to / scaled.from)}: ${formatDecimal(scaled.to)} instead of ${formatDecimal(scaled.from)} on ${scaled.date}. ${cause ?? ''}`}
        </p>
      )}
      <p class="quiet">Portfolio after costs; first common date = {BASE_LEVEL}</p>
      <Chart
        label={`Portfolios of two runs of ${id}`}
        dates={dates}
        lines={isSame ? levels.slice(0, 1).map((line) => ({ ...line, label: 'Both runs' })) : levels}
        height={220}
        sync="runs"
      />
      {!isSame && (
        <Chart label="Later run divided by the earlier run" dates={dates} lines={ratio} height={120} sync="runs" />
      )}
      {(!isSame || (scaled !== null && cause === null)) && children}
    </>
  );
}

/** Names the base value as the cause of scaled levels. Returns null if it is not the only cause. */
const formatCause = (
  { baseValue: before }: RunSeries,
  { baseValue: after }: RunSeries,
  { from, to }: { readonly from: number; readonly to: number },
): string | null =>
  before === null || after === null || Math.abs(to / from / (after / before) - 1) > ROUNDING
    ? null
    : `Cause: the base value, ${formatFigure(before)} → ${formatFigure(after)} points.`;

/** Value that both runs have at the first common date. */
const BASE_LEVEL = 100;
/** Maximum absolute difference between a ratio and the base that can come from the rounding of doubles. */
const ROUNDING = 1e-9;

/** Returns the index levels of both runs on their last common date. Returns null if they are equal. */
function findScaledLevel(first: Levels, second: Levels) {
  const levelByDate = new Map(first.index.map((date, t) => [date, first.data[t] ?? null]));
  const at = second.index.findLastIndex(
    (date, t) => (levelByDate.get(date) ?? null) !== null && (second.data[t] ?? null) !== null,
  );
  const date = second.index[at];
  if (date === undefined) return null;
  const [from, to] = [levelByDate.get(date)!, second.data[at]!];
  return Math.abs(to / from - 1) < ROUNDING ? null : { date, from, to };
}

function draw(first: Levels, second: Levels) {
  const dates = [...new Set([...first.index, ...second.index])].toSorted();
  const alignDates = ({ index, data }: Levels) => {
    const levelByDate = new Map(index.map((date, t) => [date, data[t] ?? null]));
    return dates.map((date) => levelByDate.get(date) ?? null);
  };
  const [earlier, later] = [alignDates(first), alignDates(second)];
  const firstSharedPosition = Math.max(
    0,
    earlier.findIndex((value, t) => value !== null && later[t] !== null),
  );
  const [from, to] = [rebaseTo100(earlier, firstSharedPosition), rebaseTo100(later, firstSharedPosition)];
  const levels: readonly Line[] = [
    { id: 'later', label: 'Later run', values: to, colour: LINE_COLOURS.later },
    { id: 'earlier', label: 'Earlier run', values: from, colour: LINE_COLOURS.earlier },
  ];
  const values = to.map((value, t) => {
    const base = from[t] ?? null;
    if (value === null || base === null || base === 0) return null;
    const ratio = (BASE_LEVEL * value) / base;
    return Math.abs(ratio - BASE_LEVEL) < ROUNDING ? BASE_LEVEL : ratio;
  });
  return { dates, levels: layerCovered(levels), ratio: [{ id: 'ratio', label: 'Later / earlier', values, colour: 5 }] };
}

/** Runs that are ticked. If only one is ticked, it is the earlier one. */
interface ComparedPair {
  readonly earlier: StoredRun | undefined;
  readonly later: StoredRun | undefined;
}

/**
 * Returns the runs in the address. If the address has none, returns the latest run and the run before it.
 * @param runs all stored runs, newest first
 */
function findComparedRuns(runs: readonly StoredRun[]): ComparedPair {
  const chosenIds = [getParameter('run_from'), getParameter('run_to')];
  const chosenRuns = runs.filter(({ run_id: run }) => chosenIds.includes(run));
  const [later, earlier] = chosenRuns.length === 0 ? runs : chosenRuns;
  return earlier === undefined ? { earlier: later, later: undefined } : { earlier, later };
}

/** Returns the ticks of the compared runs. The address keeps them. A third run replaces the first of them. */
const createSelection = ({ earlier, later }: ComparedPair): SelectedRows => ({
  keys: [earlier, later].flatMap((run) => run?.run_id ?? []),
  isLimited: true,
  onChange(keys) {
    const [from = null, to = null] = keys.slice(-2);
    setParameters({ run_from: from, run_to: to });
  },
});

/** Number of characters of an id that are shown. They distinguish runs that were started in the same minute. */
const ID_CHARACTERS = 4;

const formatRun = ({ run_at: runAt, run_id: run }: StoredRun): string =>
  `${formatMoment(runAt)}, ${run.slice(0, ID_CHARACTERS)}`;

/** Creates a column that marks the compared runs in the colours of their lines, and the run that the page shows. */
function createComparedColumn(compared: ComparedPair, shown: StoredRun | undefined): Column<StoredRun> {
  const { earlier, later } = compared;
  const isSame = haveSameFigures(compared);
  const findSide = (run: StoredRun) => (run === later ? 'later' : run === earlier ? 'earlier' : null);
  const show = (run: StoredRun) => {
    const side = findSide(run);
    return side === null && run !== shown ? null : (
      <>
        {side !== null && (
          <Badge>
            {side} <span class="swatch" style={{ color: `var(--series-${LINE_COLOURS[isSame ? 'later' : side]})` }} />
          </Badge>
        )}{' '}
        {run === shown && <Badge kind="info">shown</Badge>}
      </>
    );
  };
  return {
    id: 'compared',
    title: 'Compared',
    help: 'Side of the comparison, and the run that this page shows',
    width: 132,
    priority: 2,
    value: findSide,
    show,
    showBelow: show,
  };
}

interface ComparedRunsProps {
  readonly id: string;
  readonly compared: ComparedPair;
}

/** Renders the comparison of the ticked runs: their figures, their levels, and why they differ. */
function ComparedRuns({ id, compared }: ComparedRunsProps) {
  const { earlier, later } = compared;
  if (earlier === undefined || later === undefined)
    return (
      <Section title="Comparison">
        <p class="quiet">Tick a second run in the table above.</p>
      </Section>
    );
  return (
    <Section title="Comparison" aside={`earlier ${formatRun(earlier)}; later ${formatRun(later)}`}>
      {!haveSameFigures(compared) && (
        <Metrics label="Figures of the compared runs" metrics={createDifferences(earlier, later)} />
      )}
      <RunLevels id={id} earlier={earlier} later={later}>
        <RunDifference id={id} from={earlier.run_id} to={later.run_id} version={later.index_version} />
      </RunLevels>
    </Section>
  );
}

type Figures = NonNullable<StoredRun['metrics']>;

const FIGURES: readonly (readonly [term: string, read: (figures: Figures) => number | null, isRatio?: true])[] = [
  ['Return', (figures) => figures.total_return],
  ['Annualised return', (figures) => figures.annualised_return],
  ['Volatility', (figures) => figures.volatility],
  ['Sharpe ratio', (figures) => figures.sharpe_ratio, true],
  ['Max drawdown', (figures) => figures.max_drawdown],
];

/** Returns true if all figures of the compared runs are equal. One line then represents both runs. */
const haveSameFigures = ({ earlier, later }: ComparedPair): boolean => {
  const [from, to] = [earlier?.metrics ?? null, later?.metrics ?? null];
  return (
    from !== null &&
    to !== null &&
    FIGURES.every(([, read]) => Math.abs((read(from) ?? 0) - (read(to) ?? 0)) < ROUNDING)
  );
};

/** Returns the figures of the later run minus those of the earlier run. Both are in the note. */
const createDifferences = (earlier: StoredRun, later: StoredRun): readonly LabelledFigure[] =>
  FIGURES.map(([term, read, isRatio = false]) => {
    const [from, to] = [earlier, later].map(({ metrics }) => (metrics === null ? null : read(metrics)));
    const difference = from == null || to == null ? null : to - from;
    const format = isRatio ? formatDecimal : formatPercent;
    return {
      term,
      value: isRatio ? formatSigned(difference) : formatPoints(difference),
      note: `${format(from)} → ${format(to)}`,
      help: 'Later run minus earlier run; portfolio after costs',
    };
  });

const formatSigned = (value: number | null): string => `${(value ?? 0) > 0 ? '+' : ''}${formatDecimal(value)}`;

type Check = ReconciliationView['checks'][number];

/** Renders the identities of the run and whether they hold when they are recomputed. */
function Reconciliation({ id }: { readonly id: string }) {
  const view = useAnswer('reconcileRun', { params: { index_id: id }, query: readShownRun() }, { follows: false });
  return (
    <Section
      title="Identities"
      aside={
        view.data !== undefined &&
        (view.data.reconciles ? (
          <Badge kind="good">all {view.data.checks.length} identities hold</Badge>
        ) : (
          <Badge kind="bad">some identities do not hold</Badge>
        ))
      }
    >
      <Answered resource={view} what="the identities, which are being recomputed">
        {({ checks, reconciles }) => (
          <details open={!reconciles}>
            <summary>The {countValues(checks.length, 'identity', 'identities')} of the run</summary>
            <Table label="identities" columns={CHECK_COLUMNS} rows={checks} getKey={({ name }) => name} height={420} />
          </details>
        )}
      </Answered>
    </Section>
  );
}

const CHECK_COLUMNS: readonly Column<Check>[] = [
  {
    id: 'holds',
    title: 'Holds',
    width: 70,
    value: ({ holds }) => Number(holds),
    copy: ({ holds }) => (holds ? 'yes' : 'no'),
    show: ({ holds }) => (holds ? <Badge kind="good">yes</Badge> : <Badge kind="bad">no</Badge>),
  },
  {
    id: 'meaning',
    title: 'Identity',
    width: 200,
    grow: 4,
    show: ({ meaning }) => <span title={meaning}>{meaning}</span>,
  },
  {
    id: 'residual',
    title: 'Residual',
    width: 110,
    priority: 2,
    write: (value) => <span title={formatFigure(value)}>{formatResidual(value)}</span>,
  },
  { id: 'tolerance', title: 'Tolerance', width: 110, priority: 3, write: formatFigure },
];

/** Renders the stored runs, newest first, a comparison of the two ticked runs, and the run that the page shows. */
export function Runs({ id }: { readonly id: string }) {
  const list = useAnswer('listRuns', { params: { index_id: id } });
  const schemas = useSchemas();
  return (
    <div class="stack gap-4 index-part">
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
  { id: 'start', title: 'From', width: 96, priority: 5, below: 'nothing' },
  { id: 'end', title: 'To', width: 96, priority: 4 },
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
  {
    id: 'volatility',
    title: 'Volatility',
    help: 'Annualised standard deviation of daily returns',
    width: 84,
    priority: 6,
    below: 'nothing',
    value: ({ metrics }) => metrics?.volatility ?? null,
    write: formatPercent,
  },
];
