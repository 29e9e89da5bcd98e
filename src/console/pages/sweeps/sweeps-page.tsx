import type {
  JobStatus,
  SweepOverfitting,
  SweepView,
  Finding,
  IndexDocument,
  RuleTypes,
  StoredRun,
  SweepRequest,
} from '#clients/typescript/divisor.js';
import { LinkButton, Button, Icon } from '../../components/controls/button.js';
import { Badge, Answered, EmptyState, Problem, Banner } from '../../components/feedback.js';
import { isOver, isQuiet, JobAct } from '../../components/jobs.js';
import { keepWordsWhole, Facts } from '../../components/layout/facts.js';
import { createRegisterPage } from '../../components/register.js';
import { type Column } from '../../components/table/model.js';
import { getJob } from '../../state/live.js';
import {
  mapResource,
  may,
  type Resource,
  service,
  type Trouble,
  useAnswer,
  useList,
  useResource,
} from '../../state/service.js';
import { formatMoment } from '../../words/dates.js';
import { describeSubject, formatJobAddress, formatJobId, formatShortId, STATUS_KINDS } from '../../words/jobs.js';
import { formatDecimal, formatPercent, MISSING_TEXT, countValues, formatCount } from '../../words/numbers.js';
import { computeMedian } from '../../words/statistics.js';
import { useParameterLabels, listVariedParameters } from './parameters.js';
import {
  countVariants,
  findBest,
  findDates,
  formatCosts,
  getCosts,
  listSettings,
  canTestChoice,
  formatBacktests,
  formatMetric,
  formatRunTime,
  formatWithUnit,
  listVariantFindings,
  listValueErrors,
  measureRunTime,
  parseValues,
  type BacktestDates,
  type RunTime,
  type VariedParameter,
} from './variants.js';
import './sweeps.css';
import { useMemo, useState } from 'preact/hooks';
import type { FieldSpec } from '../../components/form/field-spec.js';
import { Field, FieldGrid } from '../../components/form/field.js';
import { listFieldSpecs, SchemaForm, type Schemas, useSchemas } from '../../components/form/schema-form.js';
import { Page } from '../../components/layout/page.js';
import { MayNot } from '../../components/permission.js';
import { submitJob } from '../../state/actions.js';
import { getParameter, navigate, setParameters, useAddressedObject } from '../../state/location.js';
import { findLastVisit } from '../../state/stored-list.js';
import { isObject, type Json, type JsonObject } from '../../words/paths.js';
import { isFractionUnit } from '../../words/quantities.js';
import { getRunTerms, readNewestRun } from '../index/run-settings.js';

/** Maximum number of sweeps whose results are read, newest first. Each needs one request. */
const READ_MAX = 30;

interface Row {
  readonly job: JobStatus;
  /** Result of a sweep that has succeeded; null until it is read. */
  readonly view: SweepView | null;
  /** Values of the best variant; null until they are known. */
  readonly best: string | null;
}

/** Reads all sweeps, each with its verdict, its best variant, and how far that is above the median. */
function useSweeps(): Resource<readonly Row[]> {
  const sweeps = useAnswer('listJobs', { query: { kind: ['sweep'], limit: 100 } });
  const jobs = sweeps.data?.jobs ?? [];
  const ids = jobs
    .filter(({ status }) => status === 'succeeded')
    .slice(0, READ_MAX)
    .map(({ job_id: id }) => id);
  const results = useResource(ids.length === 0 ? null : `sweep results ${ids.join()}`, (signal) =>
    Promise.all(ids.map((id) => service.value.call('getJob', { params: { job_id: id }, signal }))),
  );
  const views = new Map(results.data?.map(({ job_id: id, result }) => [id, result as SweepView])); // the kind of the job determines the type of its result
  const labels = useParameterLabels([...new Set([...views.values()].map(({ index_id: id }) => id))].toSorted());
  return mapResource(sweeps, () =>
    jobs.map((listed): Row => {
      const job = getJob(listed.job_id) ?? listed;
      const view = views.get(job.job_id) ?? null;
      const best = view === null ? undefined : findBest(view);
      return {
        job,
        view,
        best:
          view === null || best === undefined || labels === undefined
            ? null
            : listSettings(best.patch, labels(view.index_id)),
      };
    }),
  );
}

const findBestRatio = ({ view }: Row): number | null => (view && findBest(view))?.metrics?.sharpe_ratio ?? null;

function findMedianRatio({ view }: Row): number | null {
  const ratios = view?.rows.flatMap(({ metrics }) => metrics?.sharpe_ratio ?? []) ?? [];
  return ratios.length === 0 ? null : computeMedian(ratios);
}

/** Renders the state of a sweep without a result, and its progress while it runs. */
const State = ({ job: { status, progress } }: Pick<Row, 'job'>) => (
  <Badge kind={STATUS_KINDS[status]}>{status === 'running' ? `running ${formatPercent(progress, 0)}` : status}</Badge>
);

/** Renders the rating of a ranking. Sweeps of earlier versions have none. */
const Rating = ({ rating }: SweepOverfitting) =>
  rating === undefined ? null : <Badge kind={RATINGS[rating].kind}>{RATINGS[rating].badge}</Badge>;

/** Renders the comparison of a ranking with chance. */
function Reliability({ view }: Row) {
  const { overfitting } = view ?? {};
  if (overfitting == null) return MISSING_TEXT;
  return (
    <span>
      {formatPercent(overfitting.probability, 1)} <Rating {...overfitting} />
      <br />
      <span class="quiet">{formatChance(overfitting)}</span>
    </span>
  );
}

/** Renders the comparison of a ranking with chance in one line, with its label. */
const ReliabilityLine = (overfitting: SweepOverfitting) => (
  <>
    <Rating {...overfitting} />{' '}
    {[`Overfitting ${formatPercent(overfitting.probability, 1)}`, formatChance(overfitting)].filter(Boolean).join(', ')}
  </>
);

function Backtests({ job, view }: Row) {
  const dates = view && findDates(view);
  const costs = getCosts(job.request);
  const text = [dates && `${dates.start} to ${dates.end}`, costs === null ? 'costs varied' : formatCosts(costs)];
  return <span>{keepWordsWhole(text.filter(Boolean).join(', '))}</span>;
}

const SWEEP_COLUMNS: readonly Column<Row>[] = [
  {
    id: 'sweep',
    title: 'Sweep',
    width: 130,
    grow: 1,
    lines: 2,
    value: ({ job }) => `${describeSubject(job)} ${formatJobId(job)}`,
    show: ({ job }) => (
      <>
        <strong>{describeSubject(job)}</strong>{' '}
        <span class="quiet" title={formatJobId(job)}>
          {formatShortId(job)}
        </span>{' '}
        {job.status !== 'succeeded' && <State job={job} />}
      </>
    ),
  },
  {
    id: 'overfitting',
    title: 'Probability of overfitting',
    help: 'Share of the splits of the history in which the best variant of one half ranks no better than the median in the other, and the share of a random choice',
    width: 176,
    priority: 2,
    lines: 2,
    value: ({ view }) => view?.overfitting?.probability ?? null,
    show: (row) => <Reliability {...row} />,
    showBelow: ({ view }) => view?.overfitting && <ReliabilityLine {...view.overfitting} />,
  },
  {
    id: 'first',
    title: 'Best variant',
    help: 'First by the criterion of the sweep',
    width: 140,
    ideal: 154,
    grow: 3,
    priority: 2,
    lines: 2,
    value: ({ best }) => best,
    show: ({ best }) => <span title={best ?? ''}>{best ?? MISSING_TEXT}</span>,
    showBelow: ({ best }) => best && `Best: ${best.charAt(0).toLowerCase()}${best.slice(1)}`,
  },
];

const FIGURE_COLUMNS: readonly Column<Row>[] = [
  {
    id: 'sharpe',
    title: 'Sharpe',
    help: 'Sharpe ratio of the best variant, annualised',
    width: 66,
    value: findBestRatio,
    write: (value) => formatDecimal(value, 3),
  },
  {
    id: 'median',
    title: 'Median Sharpe',
    help: 'Median Sharpe ratio of all variants, annualised',
    width: 104,
    priority: 4,
    value: findMedianRatio,
    write: (value) => formatDecimal(value, 3),
  },
  {
    id: 'variants',
    title: 'Variants',
    width: 74,
    priority: 2,
    value: ({ job }) => countVariants(job.request),
    write: (value) => String(value ?? MISSING_TEXT),
  },
  {
    id: 'backtests',
    title: 'Backtests',
    help: 'First and last date, and transaction cost',
    width: 146,
    priority: 5,
    lines: 2,
    value: ({ view }) => (view && findDates(view))?.start ?? null,
    show: (row) => <Backtests {...row} />,
  },
  {
    id: 'created',
    title: 'Submitted',
    width: 150,
    priority: 3,
    value: ({ job }) => job.created_at,
    showBelow: ({ job }) => formatMoment(job.created_at),
    show: ({ job }) => formatMoment(job.created_at),
  },
  {
    id: 'act',
    title: '',
    width: 76,
    value: () => null,
    show: ({ job }) => may('run') && (!isOver(job) || job.status === 'failed') && <JobAct job={job} />,
  },
];

const COLUMNS: readonly Column<Row>[] = [...SWEEP_COLUMNS, ...FIGURE_COLUMNS];

const NewSweepButton = () =>
  may('run') ? (
    <LinkButton kind="main" href="/console/sweeps/new">
      New sweep
    </LinkButton>
  ) : null;

/** Page of all sweeps, each with its verdict and its best variant. */
export const SweepsPage = createRegisterPage<Row>({
  title: 'Sweeps',
  name: 'sweeps',
  label: 'sweeps',
  subtitle: () => 'Many variants of an index, run and ranked as one job',
  actions: (rows = []) => rows.length > 0 && <NewSweepButton />,
  useRows: useSweeps,
  columns: COLUMNS,
  listColumns: (rows) => (rows.every(({ job }) => isQuiet(job)) ? COLUMNS.filter(({ id }) => id !== 'act') : COLUMNS),
  sort: { column: 'created', direction: 'desc' },
  height: 640,
  empty: {
    title: 'No sweep yet',
    text: 'A sweep runs an index with many values of its parameters, ranks the variants, and tests whether the best one is better than chance.',
    action: () => <NewSweepButton />,
  },
  getKey: ({ job }) => job.job_id,
  formatAddress: ({ job }) => formatJobAddress(job),
});

/**
 * Describes the settings of folds with their units: `10 groups, 2 tested at a time (45 splits), 1 session purged, chosen
 * by Sharpe ratio`.
 * @param folds settings with their defaults
 */
function formatFolds({ method, ...folds }: JsonObject): string {
  const [groups, tested, trained] = ['groups', 'test_groups', 'train_groups'].map((name) => Number(folds[name] ?? 0));
  const isCombinatorial = method === 'combinatorial';
  const splits = isCombinatorial ? countCombinations(groups!, tested!) : groups! - trained!;
  const embargo = folds['embargo'];
  return [
    countValues(groups!, 'group'),
    isCombinatorial
      ? `${tested} tested at a time (${countValues(splits, 'split')})`
      : `the first ${trained} only in sample (${countValues(splits, 'split')})`,
    typeof folds['window'] === 'string' && `${folds['window']} sample`,
    `${countValues(Number(folds['purge'] ?? 0), 'session')} purged`,
    typeof embargo === 'number' && `embargo of ${countValues(embargo, 'session')}`,
    `chosen by ${formatMetric(String(folds['select_by']))}`,
  ]
    .filter(Boolean)
    .join(', ');
}

/** Returns the number of ways to choose some of the groups. */
function countCombinations(all: number, chosen: number): number {
  let count = 1;
  for (let k = 1; k <= chosen; k++) count = (count * (all - chosen + k)) / k;
  return Math.round(count);
}

/** Schemas of the fold settings, by method. */
const SCHEMAS = { combinatorial: 'CombinatorialFolds', walk_forward: 'WalkForwardFolds' } as const;
type Method = keyof typeof SCHEMAS;

const METHODS = Object.keys(SCHEMAS) as readonly Method[];
const isMethod = (value: unknown): value is Method => METHODS.some((method) => method === value);

interface FoldsFormProps {
  /** Settings of the folds; null if the selection of the best variant is not tested. */
  readonly folds: JsonObject | null;
  /** True if the period is long enough for the default folds. */
  readonly canTest: boolean;
  readonly findings: readonly Finding[];
  onChange(folds: JsonObject | null): void;
}

/**
 * Renders how the backtest period is divided into folds. The folds test the selection of the best variant out of
 * sample.
 */
function FoldsForm({ folds, canTest, findings, onChange }: FoldsFormProps) {
  const method = folds?.['method'];
  return (
    <>
      <Field
        spec={{
          name: 'folds',
          label: 'Test of the choice',
          kind: 'choice',
          choices: METHODS,
          help: canTest
            ? 'Splits the time range so that the best variant of one part is tested on another.'
            : 'The time range is too short to select the best variant on one part and test it on another.',
        }}
        value={isMethod(method) ? method : null}
        findings={findings.filter(({ path }) => path === 'folds')}
        onChange={(value) => onChange(isMethod(value) ? { method: value } : null)}
      />
      {isMethod(method) && <FoldSettings method={method} folds={folds ?? {}} findings={findings} onChange={onChange} />}
    </>
  );
}

interface FoldSettingsProps {
  readonly method: Method;
  readonly folds: JsonObject;
  readonly findings: readonly Finding[];
  onChange(folds: JsonObject): void;
}

/** Renders the settings of the folds below a summary of their values. */
function FoldSettings({ method, folds, findings, onChange }: FoldSettingsProps) {
  const schemas = useSchemas();
  const settings = (schemas.data === undefined ? [] : listFieldSpecs(schemas.data, SCHEMAS[method])).map(
    ({ name, otherwise }) => [name, folds[name] ?? (otherwise as Json | undefined)] as const,
  ); // defaults of the schema are JSON
  return (
    <details class="sweep-folds" open={findings.some(({ path }) => path.startsWith('folds.'))}>
      <summary>
        Settings of the test
        <br />
        <span class="quiet">{settings.length > 0 && formatFolds({ ...Object.fromEntries(settings), method })}</span>
      </summary>
      <SchemaForm
        schema={SCHEMAS[method]}
        except={['method']}
        value={folds}
        findings={findings}
        path={['folds']}
        onChange={onChange}
      />
    </details>
  );
}

interface SweepSummaryProps {
  readonly indexId: string;
  readonly grid: Readonly<Record<string, readonly Json[]>>;
  /** Summary of the terms of the backtests. */
  readonly backtests: string;
  readonly rank: string;
  readonly folds: JsonObject | null;
  readonly time: RunTime | null;
  /** False if a value is refused. */
  readonly isValid: boolean;
  onRun(): Promise<unknown>;
}

/** Renders the number of variants, the terms and the estimated time of a sweep next to the button that runs it. */
function SweepSummary({ indexId, grid, backtests, rank, folds, time, isValid, onRun }: SweepSummaryProps) {
  const counts = Object.values(grid).map(({ length }) => length);
  const variants = counts.length === 0 ? 0 : countVariants({ grid });
  const product = counts.length > 1 ? ` = ${counts.join(' × ')}` : '';
  return (
    <aside class="sweep-summary" aria-label="This sweep">
      <h2>This sweep</h2>
      <Facts
        facts={[
          ['Index', indexId],
          ['Variants', `${variants}${product}`],
          ['Backtests', keepWordsWhole(backtests)],
          ['Ranked by', formatMetric(rank)],
          ['Test of the choice', folds === null ? 'none' : String(folds['method']).replaceAll('_', ' ')],
          ['Estimated time', variants === 0 || time === null ? null : formatRunTime(time, variants)],
        ]}
      />
      <Button kind="main" disabled={variants === 0 || !isValid} onClick={() => void onRun()}>
        {variants === 0 ? 'Run' : `Run ${countValues(variants, 'variant')}`}
      </Button>
      {counts.length === 0 && <p class="quiet">Choose a parameter to vary first.</p>}
    </aside>
  );
}

/** A varied parameter and its values as typed. */
interface Axis {
  readonly pointer: string;
  readonly text: string;
}

const RANKING_CHOICES = [
  'sharpe_ratio',
  'total_return',
  'annualised_return',
  'max_drawdown',
  'volatility',
  'tracking_error',
] as const;

const RANK_FIELD: FieldSpec = {
  name: 'rank',
  label: 'Ranked by',
  kind: 'choice',
  choices: RANKING_CHOICES,
  words: { sharpe_ratio: 'Sharpe ratio' },
  isRequired: true,
};

const TERMS_SCHEMA = 'SweepTerms';

const listAxes = ({ axes }: JsonObject): readonly Axis[] =>
  Object.entries(isObject(axes) ? axes : {}).map(([pointer, text]) => ({ pointer, text: String(text) }));

interface SweepFormProps {
  /** Indices that can be varied. */
  readonly ids: readonly string[];
  readonly index: IndexDocument;
  readonly types: RuleTypes;
  /** Terms of the backtests of the newest run. */
  readonly terms: JsonObject;
  /** Last date of the newest run; null without a run. */
  readonly end: string | null;
  readonly time: RunTime | null;
}

/** Renders the form of a sweep: its index, its varied parameters, the choice of the best variant, and the terms. */
function SweepForm({ ids, index, types, terms: first, end, time }: SweepFormProps) {
  const period = (of: JsonObject): BacktestDates => ({
    start: String(of['start'] ?? index.base_date),
    end: typeof of['end'] === 'string' ? of['end'] : end,
  });
  const [asked, setAsked] = useAddressedObject('sweep', {
    axes: {},
    terms: first,
    rank: 'sharpe_ratio',
    folds: canTestChoice(period(first)) ? { method: 'combinatorial' } : null,
  });
  const [trouble, setTrouble] = useState<Trouble | null>(null);
  const findings = trouble?.findings ?? [];
  const terms = isObject(asked['terms']) ? asked['terms'] : {};
  const costs = Number(terms['transaction_cost_bps'] ?? 0);
  const varied = useMemo(
    () => listVariedParameters(index as unknown as JsonObject, types, costs),
    [index, types, costs],
  );
  const axes = listAxes(asked);
  const put = (name: string, value: Json | undefined) => {
    setTrouble(null);
    setAsked({ ...asked, [name]: value });
  };
  const grid = createGrid(axes, varied);
  const valueErrors = axes.flatMap((axis) => listRefused(axis, varied));
  const backtests = formatBacktests(index, terms, period(terms));
  const folds = isObject(asked['folds']) ? asked['folds'] : null;
  const submit = async () => {
    const body: SweepRequest = {
      index_id: index.id,
      request: terms as unknown as NonNullable<SweepRequest['request']>, // the service validates the terms
      grid,
      rank_by: asked['rank'] as (typeof RANKING_CHOICES)[number],
      folds: folds as unknown as SweepRequest['folds'], // the service validates the folds
    };
    const job = await submitJob(() => service.value.call('startSweep', { body }), setTrouble);
    if (job !== undefined) navigate(formatJobAddress(job));
  };
  return (
    <div class="pile gap-4 sweep-new">
      <div class="stack gap-4">
        <VariantTerms
          ids={ids}
          indexId={index.id}
          axes={axes}
          varied={varied}
          findings={[...valueErrors, ...findings]}
          onChange={(next) => put('axes', Object.fromEntries(next.map((one) => [one.pointer, one.text])))}
        />
        <ChoiceTerms
          rank={asked['rank']}
          folds={folds}
          canTest={canTestChoice(period(terms))}
          findings={findings}
          onChange={put}
        />
        <BacktestTerms terms={terms} text={backtests} findings={findings} onChange={(next) => put('terms', next)} />
        {trouble !== null && <Problem trouble={trouble} />}
      </div>
      <SweepSummary
        indexId={index.id}
        grid={grid}
        backtests={backtests}
        rank={String(asked['rank'])}
        folds={folds}
        time={time}
        isValid={valueErrors.length === 0}
        onRun={submit}
      />
    </div>
  );
}

/** Returns the values of each parameter, in its unit. */
const createGrid = (axes: readonly Axis[], varied: readonly VariedParameter[]): Readonly<Record<string, Json[]>> =>
  Object.fromEntries(
    axes.map(({ pointer, text }) => [
      pointer,
      [...parseValues(text, varied.find((one) => one.pointer === pointer)?.unit ?? null)],
    ]),
  );

/** Returns findings about typed values that a parameter does not accept. */
function listRefused({ pointer, text }: Axis, varied: readonly VariedParameter[]): readonly Finding[] {
  const parameter = varied.find((one) => one.pointer === pointer);
  const messages = parameter === undefined ? [] : listValueErrors(text, parameter);
  return messages.map((message) => ({ severity: 'error', code: 'WRONG_TYPE', message, path: `grid${pointer}` }));
}

interface VariantTermsProps extends Pick<SweepFormProps, 'ids'> {
  readonly indexId: string;
  readonly axes: readonly Axis[];
  readonly varied: readonly VariedParameter[];
  readonly findings: readonly Finding[];
  onChange(axes: readonly Axis[]): void;
}

const VariantTerms = ({ ids, indexId, axes, varied, findings, onChange }: VariantTermsProps) => (
  <section class="sweep-part" aria-label="Variants">
    <h2>Variants</h2>
    <FieldGrid>
      <Field
        spec={{
          name: 'index_id',
          label: 'Index',
          kind: 'choice',
          choices: ids,
          words: Object.fromEntries(ids.map((id) => [id, id])),
          isRequired: true,
        }}
        value={indexId}
        findings={findings.filter(({ path }) => path === 'index_id')}
        onChange={(chosen) => setParameters({ index: String(chosen), sweep: null })}
      />
    </FieldGrid>
    <AxisFields
      axes={axes}
      varied={varied}
      findingsAt={(pointer) => listVariantFindings(findings, pointer)}
      onChange={onChange}
    />
  </section>
);

interface ChoiceTermsProps {
  readonly rank: Json | undefined;
  readonly folds: JsonObject | null;
  /** True if the period is long enough for a test of the choice. */
  readonly canTest: boolean;
  readonly findings: readonly Finding[];
  onChange(name: string, value: Json): void;
}

/** Renders the metric of the ranking, and the out-of-sample test of the selection. */
const ChoiceTerms = ({ rank, folds, canTest, findings, onChange }: ChoiceTermsProps) => (
  <section class="sweep-part" aria-label="Choice of the best variant">
    <h2>Choice of the best variant</h2>
    <div class="pile field-grid is-joined">
      <Field
        spec={RANK_FIELD}
        value={rank}
        findings={findings.filter(({ path }) => path === 'rank_by')}
        onChange={(value) => onChange('rank', value ?? null)}
      />
      <FoldsForm folds={folds} canTest={canTest} findings={findings} onChange={(next) => onChange('folds', next)} />
    </div>
  </section>
);

interface BacktestTermsProps {
  readonly terms: JsonObject;
  /** Summary of the terms. */
  readonly text: string;
  readonly findings: readonly Finding[];
  onChange(terms: JsonObject): void;
}

const BacktestTerms = ({ terms, text, findings, onChange }: BacktestTermsProps) => (
  <details class="sweep-part" open={findings.some(({ path }) => path.startsWith('request'))}>
    <summary>
      <h2>Terms of the backtests</h2>
      <br />
      <span class="quiet">{keepWordsWhole(text)}</span>
    </summary>
    <SchemaForm schema={TERMS_SCHEMA} value={terms} findings={findings} path={['request']} onChange={onChange} />
  </details>
);

/** Maximum number of varied parameters. A map shows two of them at once. */
const AXES_MAX = 4;

interface AxisFieldsProps {
  readonly axes: readonly Axis[];
  readonly varied: readonly VariedParameter[];
  findingsAt(pointer: string): readonly Finding[];
  onChange(axes: readonly Axis[]): void;
}

/** Renders the values of each varied parameter, and a choice of another parameter. */
function AxisFields({ axes, varied, findingsAt, onChange }: AxisFieldsProps) {
  const free = varied.filter(({ pointer }) => !axes.some((axis) => axis.pointer === pointer));
  const add = (pointer: string) => onChange([...axes, { pointer, text: suggestValues(varied, pointer) }]);
  return (
    <>
      {axes.map((axis, k) => (
        <AxisField
          key={axis.pointer}
          axis={axis}
          varied={varied.find(({ pointer }) => pointer === axis.pointer)}
          findings={findingsAt(axis.pointer)}
          onChange={(text) => onChange(axes.map((own, i) => (i === k ? { ...own, text } : own)))}
          onRemove={() => onChange(axes.filter((_, i) => i !== k))}
        />
      ))}
      {axes.length < AXES_MAX && (
        <FieldGrid>
          <Field
            // A new field is empty again.
            key={axes.length}
            spec={{
              name: 'grid',
              label: axes.length === 0 ? 'Vary a parameter' : 'Vary another parameter',
              kind: 'choice',
              choices: free.map(({ pointer }) => pointer),
              words: Object.fromEntries(free.map(({ pointer, label }) => [pointer, label])),
              isRequired: axes.length === 0,
            }}
            value={null}
            findings={[]}
            onChange={(pointer) => typeof pointer === 'string' && add(pointer)}
          />
        </FieldGrid>
      )}
      {axes.length === 0 && <CommonParameters varied={varied} onChoose={add} />}
    </>
  );
}

/** Maximum number of parameters that are shown as buttons. */
const COMMON_MAX = 6;

interface CommonParametersProps extends Pick<AxisFieldsProps, 'varied'> {
  onChoose(pointer: string): void;
}

/** Renders the numeric parameters that the index sets as buttons, each with its present value. */
const CommonParameters = ({ varied, onChoose }: CommonParametersProps) => (
  <div class="wrap gap-3 sweep-fixed" role="group" aria-label="Common parameters">
    <p class="quiet" style={{ flexBasis: '100%' }}>
      Common, with present values
    </p>
    {varied
      .filter(({ now, takes }) => typeof now === 'number' && takes !== 'word')
      .slice(0, COMMON_MAX)
      .map(({ pointer, label, now, unit }) => (
        <Button key={pointer} onClick={() => onChoose(pointer)}>
          {label}: {formatWithUnit(now, unit)}
        </Button>
      ))}
  </div>
);

/** Suggests values for a parameter: the values that it accepts, or numbers near its current value. */
function suggestValues(varied: readonly VariedParameter[], pointer: string): string {
  const { now, choices } = varied.find((one) => one.pointer === pointer) ?? {};
  if (choices) return choices.join(', ');
  if (typeof now !== 'number') return now === undefined || now === null ? '' : String(now);
  if (now === 0) return '0, 5, 10, 20';
  return [0.5, 1, 1.5, 2].map((factor) => Number((now * factor).toPrecision(6))).join(', ');
}

interface AxisFieldProps {
  readonly axis: Axis;
  readonly varied: VariedParameter | undefined;
  readonly findings: readonly Finding[];
  onChange(text: string): void;
  onRemove(): void;
}

function AxisField({ axis, varied, findings, onChange, onRemove }: AxisFieldProps) {
  const label = varied?.label ?? axis.pointer;
  const unit = varied?.unit ?? null;
  const readValues = parseValues(axis.text, unit).map((value) => formatWithUnit(value, unit));
  return (
    <div class="pile gap-2 sweep-axis">
      <Field
        spec={{
          name: axis.pointer,
          label,
          kind: 'text',
          unit,
          isRequired: true,
          help: `Values, separated by commas; now ${formatWithUnit(varied?.now, unit)}.${isFractionUnit(unit) && readValues.length > 0 && findings.length === 0 ? ` Read as ${readValues.join(', ')}.` : ''}`,
        }}
        value={axis.text}
        findings={findings}
        onChange={(value) => onChange(String(value ?? ''))}
      />
      <Button kind="bare" aria-label={`Remove ${label}`} onClick={onRemove}>
        <Icon name="close" />
      </Button>
    </div>
  );
}

export function NewSweepPage() {
  const indices = useList('indices');
  const types = useList('rule types', {
    follows: false,
  });
  return (
    <Page
      title="New sweep"
      above={[{ address: '/console/sweeps', text: 'Sweeps' }]}
      subtitle="Runs an index with every combination of the values and ranks the variants"
    >
      {may('run') ? (
        <Answered resource={indices} what="the indices">
          {({ indices: all }) => (
            <Answered resource={types} what="the rule classes">
              {(classes) => (
                <NewSweep ids={all.filter(({ kind }) => kind === 'rule').map(({ id }) => id)} types={classes} />
              )}
            </Answered>
          )}
        </Answered>
      ) : (
        <MayNot scope="run" what="run sweeps" />
      )}
    </Page>
  );
}

function NewSweep({ ids, types }: { readonly ids: readonly string[]; readonly types: RuleTypes }) {
  const id = getParameter('index') ?? findLastVisit(ids);
  const basis = useResource(id === undefined ? null : `basis of a sweep of ${id}`, (signal) =>
    readBasis(id ?? '', signal),
  );
  const schemas = useSchemas();
  if (id === undefined) return <EmptyState title="No index yet">A sweep varies an index. Create one first.</EmptyState>;
  return (
    <Answered resource={basis} what="the definition">
      {({ index, run, time }) => (
        <Answered resource={schemas} what="the terms of a sweep">
          {(all) => (
            <SweepForm
              key={index.id}
              ids={ids}
              index={index}
              types={types}
              terms={parseTerms(run, all)}
              end={run?.end ?? null}
              time={time}
            />
          )}
        </Answered>
      )}
    </Answered>
  );
}

/** Number of latest jobs from which the time of a variant is measured. */
const MEASURED_MAX = 100;

/** Reads the definition, the newest run, and the time that a variant takes. */
async function readBasis(id: string, signal: AbortSignal) {
  const [index, run, { jobs }] = await Promise.all([
    service.value.call('getIndex', { params: { index_id: id }, signal }) as Promise<IndexDocument>,
    readNewestRun(id, signal),
    service.value.call('listJobs', {
      query: { kind: ['sweep', 'backtest'], status: ['succeeded'], limit: MEASURED_MAX },
      signal,
    }),
  ]);
  return { index, run, time: measureRunTime(id, jobs) };
}

/** Returns the terms of the latest run that a sweep supports. These are all terms except the benchmark. */
function parseTerms(run: StoredRun | null, schemas: Schemas): JsonObject {
  const termNames = new Set(listFieldSpecs(schemas, TERMS_SCHEMA).map(({ name }) => name));
  return Object.fromEntries(
    Object.entries(run === null ? {} : getRunTerms(run)).filter(([name]) => termNames.has(name)),
  );
}

type RankingRating = NonNullable<SweepOverfitting['rating']>;

interface RatingLabel {
  /** Short form for a table. */
  readonly badge: string;
  readonly title: string;
  readonly kind: 'good' | 'warning' | 'bad';
}

const RATINGS: Readonly<Record<RankingRating, RatingLabel>> = {
  better_than_chance: { badge: 'better than chance', title: 'The ranking is better than chance', kind: 'good' },
  near_chance: { badge: 'near chance', title: 'The ranking is hardly better than chance', kind: 'warning' },
  overfit: { badge: 'overfit', title: 'Do not choose by this ranking', kind: 'bad' },
};

/** Formats the chance level next to the probability of overfitting. Sweeps of earlier versions have none. */
export const formatChance = ({ chance_level: level }: SweepOverfitting): string =>
  level === undefined ? '' : `chance ${formatPercent(level, 1)}`;

/** Renders the conclusion of a sweep: a comparison of its ranking with a random choice. */
export function SweepVerdict({ view: { overfitting } }: { readonly view: SweepView }) {
  if (overfitting?.rating === undefined) return null;
  const { kind, title } = RATINGS[overfitting.rating];
  return (
    <Banner kind={kind === 'bad' ? 'warning' : kind} title={title}>
      <p>
        In {formatPercent(overfitting.probability, 1)} of {formatCount(overfitting.combinations)} splits of the history,
        the best variant of one half ranked no better than the median in the other. A random choice would do so in{' '}
        {formatPercent(overfitting.chance_level, 1)} of them.
      </p>
    </Banner>
  );
}
