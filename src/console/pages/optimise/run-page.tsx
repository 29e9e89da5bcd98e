import './optimise.css';
import { useMemo } from 'preact/hooks';
import type {
  ConstraintCost,
  NextName,
  OptimisationRunResult,
  SensitivityRow,
  WeightRow,
} from '#clients/typescript/divisor.js';
import { LinkButton } from '../../components/controls/button.js';
import { Answered, Badge, Findings } from '../../components/feedback.js';
import { JobState } from '../../components/jobs.js';
import { type BarEntry, Bars } from '../../components/layout/bars.js';
import { type LabelledFigure, Metrics } from '../../components/layout/facts.js';
import { Page, Section } from '../../components/layout/page.js';
import { createNameColumns } from '../../components/securities.js';
import { type Column } from '../../components/table/model.js';
import { Table } from '../../components/table/table.js';
import { getJob } from '../../state/live.js';
import { formatAddress, getParameter, navigate, type PageProps } from '../../state/location.js';
import { type NameFacts, useNames } from '../../state/market.js';
import { may, service, useAnswer, useList, useResource } from '../../state/service.js';
import { formatIndexAddress, formatSecurityAddress } from '../../words/addresses.js';
import {
  formatCount,
  formatFigure as formatNumberFigure,
  formatPercent,
  formatPoints,
  getSignClass,
  MISSING_TEXT,
} from '../../words/numbers.js';
import { isObject, type Json } from '../../words/paths.js';
import { formatInUnit } from '../../words/quantities.js';
import {
  formatBinding,
  formatBindingBounds,
  formatRow,
  formatSide,
  formatUncovered,
  listBindingSiblings,
  listLimitedGroups,
  listUncoveredSecurities,
  prependSentence,
} from './bounds.js';
import {
  type ChosenPoint,
  createPointRows,
  findChosenPoint,
  findPointTerms,
  type FrontierPoint,
  type PointRow,
} from './frontier-point.js';
import { Frontier, PointSummary } from './frontier.js';
import { Infeasible, LookAhead } from './infeasible.js';
import { type ChangeScale, createChangeScale, createComparedTiles, type Measure, measureOf } from './measures.js';
import { asConstraints, asRows, parseTerms, type OptimiseTerms, useObjectiveTypes } from './terms.js';

const createWeightColumns = (
  facts: ReadonlyMap<string, NameFacts>,
  uncovered: ReadonlySet<string>,
): readonly Column<WeightRow>[] => [
  ...createNameColumns(facts),
  ...WEIGHT_COLUMNS,
  RISK_COLUMN,
  createBoundColumn(uncovered),
];

const createPointColumns = (
  facts: ReadonlyMap<string, NameFacts>,
  uncovered: ReadonlySet<string>,
): readonly Column<PointRow>[] => [
  ...createNameColumns(facts),
  ...WEIGHT_COLUMNS,
  createSolutionColumn(),
  createBoundColumn(uncovered),
];

/** @param uncovered securities that were excluded because they have no risk estimate */
const createBoundColumn = (uncovered: ReadonlySet<string>): Column<WeightRow> => ({
  id: 'bound',
  title: 'Bound',
  width: 136,
  priority: 3,
  value: ({ identifier, at_bound: bound }) => (uncovered.has(identifier) ? UNCOVERED_TEXT : bound),
  show: ({ identifier, at_bound: bound }) =>
    uncovered.has(identifier) ? (
      <Badge kind="warning" title="Excluded, because it has no risk estimate">
        {UNCOVERED_TEXT}
      </Badge>
    ) : (
      bound !== null && <Badge kind="info">{bound}</Badge>
    ),
});

const UNCOVERED_TEXT = 'no risk estimate';

const createSolutionColumn = (): Column<PointRow> => ({
  id: 'solution',
  title: 'Solution',
  help: 'Weight in the solution of the run',
  width: 96,
  priority: 2,
  value: ({ solution_weight: weight }) => weight,
  write: formatWeight,
});

/** Number of decimals of a weight in percent. Optimised weights differ little from index weights. */
const DIGITS = 3;

const formatWeight = (value: number): string => formatPercent(value, DIGITS);

/**
 * Rounds a weight as it is shown. Differences that are shown then equal the differences of the weights that are shown.
 */
const asShown = (weight: number): number => Math.round(weight * 10 ** (2 + DIGITS)) / 10 ** (2 + DIGITS);

/** Returns the active weight of a row: the difference between the weights that are shown. */
const computeShownActive = ({ weight, index_weight: index }: Pick<WeightRow, 'weight' | 'index_weight'>): number =>
  asShown(weight) - asShown(index);

const renderActiveWeight = (value: number) => (
  <span class={getSignClass(value, DIGITS)}>{formatPoints(value, DIGITS)}</span>
);

const WEIGHT_COLUMNS: readonly Column<WeightRow>[] = [
  { id: 'index', adds: true, title: 'Index', width: 84, value: (row) => row.index_weight, write: formatWeight },
  { id: 'weight', adds: true, title: 'Weight', width: 84, write: formatWeight },
  {
    id: 'active',
    title: 'Active weight',
    help: 'Weight minus index weight, both as shown, in percentage points',
    width: 110,
    adds: true,
    value: (row) => row.active_weight,
    show: (row) => renderActiveWeight(computeShownActive(row)),
    write: renderActiveWeight,
  },
];

const formatContribution = (value: number | null): string => formatPercent(value, DIGITS);

/** Column of the contribution to the tracking error. Points of the frontier do not store it. */
const RISK_COLUMN: Column<WeightRow> = {
  id: 'risk',
  adds: true,
  title: 'TE contribution',
  help: 'Contribution to the forecast tracking error, in per cent per year; the contributions add up to it',
  width: 116,
  priority: 2,
  value: (row) => row.risk_contribution,
  write: formatContribution,
};

interface ActiveBarsProps {
  readonly run: OptimisationRunResult;
  /** Weights that are compared with the index: those of the solution or of a point of the frontier. */
  readonly rows: readonly WeightRow[];
  readonly facts: ReadonlyMap<string, NameFacts>;
  /** Point of the frontier whose weights are compared; undefined for the solution. */
  readonly point: ChosenPoint | undefined;
  readonly bindingLabels: readonly string[];
  /** Securities that were excluded because they have no risk estimate. */
  readonly uncovered: ReadonlySet<string>;
}

/** Number of securities with the largest active weights. */
const SHOWN = 10;

/** Half of the last digit that a percentage shows. */
const SHOWN_MIN = 5e-5;

/** Formats an active weight. It has as many digits as in the table of weights. */
const formatActiveWeight = (value: number): string => formatPoints(value, DIGITS);

/**
 * Renders the largest active weights of securities, with marks of excluded securities and of limits. If sectors are
 * known, renders their active weights as well.
 */
function ActiveBars({ run, rows, facts, point, bindingLabels, uncovered }: ActiveBarsProps) {
  const active = rows.map((row) => ({
    label: `${row.identifier}${formatMark(row, uncovered)}`,
    name: facts.get(row.identifier)?.name ?? null,
    value: computeShownActive(row),
  }));
  const largest = sortBySize(active.filter(({ value }) => Math.abs(value) >= SHOWN_MIN)).slice(0, SHOWN);
  if (largest.length === 0) return null;
  const hasSectors = [...facts.values()].some(({ sector }) => sector !== null);
  const sums = sumBySector(rows, facts);
  const limited = listLimitedGroups(bindingLabels, { solution: sumBySector(run.weights, facts), shown: sums });
  const sectors = sortBySize(
    [...sums].map(([sector, value]): BarEntry => ({
      label: limited.has(sector) ? `${sector} (at limit)` : sector,
      value,
    })),
  ).slice(0, SHOWN);
  const difference = `more or less than in ${run.index_id}`;
  return (
    <div class="pile gap-5 active-bars">
      <Section
        title="Largest active weights"
        aside={point === undefined ? difference : `${point.label}, ${difference}`}
      >
        <Bars label="Largest active weights" bars={bySign(largest)} format={formatActiveWeight} />
      </Section>
      {hasSectors && (
        <Section title="Active weights of sectors">
          <Bars label="Active weights of sectors" bars={bySign(sectors)} format={formatActiveWeight} />
        </Section>
      )}
    </div>
  );
}

/** Returns the mark of a security that is excluded, or whose weight is at a bound. */
function formatMark({ identifier, at_bound: bound }: WeightRow, uncovered: ReadonlySet<string>): string {
  if (uncovered.has(identifier)) return ' (excluded)';
  return bound === null ? '' : ' (at limit)';
}

function sumBySector(rows: readonly WeightRow[], facts: ReadonlyMap<string, NameFacts>): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const { identifier, weight, index_weight: index } of rows) {
    const sector = facts.get(identifier)?.sector ?? 'No sector';
    sums.set(sector, (sums.get(sector) ?? 0) + weight - index);
  }
  return sums;
}

const sortBySize = (bars: readonly BarEntry[]): readonly BarEntry[] =>
  bars.toSorted((a, b) => Math.abs(b.value) - Math.abs(a.value));

const bySign = (bars: readonly BarEntry[]): readonly BarEntry[] => bars.toSorted((a, b) => b.value - a.value);

type SolvedConstraint = NonNullable<OptimisationRunResult['constraints']>[number];
type Figure = 'value' | 'limit' | 'slack';

/** Side of a constraint with its use. Runs of earlier versions have no figures. */
interface Side extends Omit<SolvedConstraint, Figure> {
  readonly value: number | null;
  readonly limit: number | null;
  readonly slack: number | null;
}

/** Side of a constraint of the request, with its use and what it costs. */
interface ConstraintRow extends Pick<Side, 'label' | 'unit' | Figure> {
  readonly state: 'binding' | 'equality' | 'exceeded' | 'met';
  /** Cost of the whole constraint. */
  readonly cost: ConstraintCost | undefined;
  /** Effect of relaxing the bound. */
  readonly relaxed: SensitivityRow | undefined;
}

const listBindingLabels = ({ binding }: OptimisationRunResult): readonly string[] =>
  binding.flatMap((bound) => bound?.['label'] ?? []);

/**
 * Returns a row per constraint of the request: its side that is nearest to its bound, or every side that is binding or
 * exceeded.
 */
function listConstraintRows(run: OptimisationRunResult): readonly ConstraintRow[] {
  const { constraint_costs: costs = [], sensitivities = [] } = run;
  const binding = listBindingLabels(run);
  const sides: readonly Side[] = run.constraints ?? listBindingSides(run);
  // Every side of a run of an earlier version is binding; the others have a slack.
  const isShown = ({ index, slack, binding: isBinding }: Side) =>
    isBinding || !sides.some((other) => other.index === index && other.slack! < slack!);
  return sides.filter(isShown).flatMap((side): readonly ConstraintRow[] => {
    const { label, unit, index, slack } = side;
    if (index === null) return [];
    const { state, value, limit } = findUse(side, run);
    const effects = sensitivities.filter(
      (one) => one.index === index && side.side === (one.change > 0 ? 'upper' : 'lower'),
    );
    const cost = costs.find((one) => one.index === index);
    return (effects.length > 0 ? effects : [undefined]).map((relaxed) => {
      const row = { label, unit, state, value, limit, slack, cost, relaxed };
      // Bounds of several securities can differ (index weight plus 2%), but they share a parameter.
      const isShared = relaxed !== undefined && listBindingSiblings(label, binding).length > 1;
      return isShared ? { ...row, value: relaxed.from, limit: relaxed.from } : row;
    });
  });
}

/** Returns the state, value and bound of a side: those of its first violated bound if it has one. */
function findUse(
  { label, side, binding, value, limit }: Side,
  { exceeded = [] }: OptimisationRunResult,
): Pick<ConstraintRow, 'state' | 'value' | 'limit'> {
  const [excess] = listBindingSiblings(
    label,
    exceeded.map((one) => one.label),
  ).flatMap((violated) => exceeded.filter((one) => one.label === violated));
  if (excess !== undefined) return { state: 'exceeded', value: excess.value, limit: excess.limit };
  if (side === 'eq') return { state: 'equality', value, limit };
  return { state: binding ? 'binding' : 'met', value, limit };
}

/** Returns the binding sides of a run of an earlier version, which has no others. */
function listBindingSides({ binding }: OptimisationRunResult): readonly Side[] {
  const sides = new Map<string, Side>();
  for (const bound of binding) {
    const { label = '', id = '', index = '', type = '', side, unit } = (bound ?? {}) as Record<string, string>;
    const key = `${index} ${side}`;
    if (index === '' || sides.has(key)) continue;
    sides.set(key, {
      label,
      id,
      index: Number(index),
      type,
      side: side as Side['side'],
      unit: unit as Side['unit'],
      value: null,
      limit: null,
      slack: null,
      binding: true,
    });
  }
  return [...sides.values()];
}

interface ConstraintTableProps {
  readonly run: OptimisationRunResult;
  readonly measure: Measure;
  readonly scale: ChangeScale;
}

/** Renders the use of each constraint, what it costs, and the effect of relaxing it. */
function ConstraintTable({ run, measure, scale }: ConstraintTableProps) {
  const rows = useMemo(() => listConstraintRows(run), [run]);
  if (rows.length === 0) return null;
  const labels = { all: rows.map(({ label }) => label), binding: listBindingLabels(run) };
  return (
    <Section title="Constraints">
      <p class="quiet">
        Cost: deterioration of {measure.name} caused by the constraint. Effect: its change if the bound is relaxed: a
        fraction by 1 percentage point, a count by 1, another bound by 0.01.
      </p>
      <Table
        label="constraints of the optimisation"
        columns={createConstraintColumns(scale, labels)}
        rows={rows}
        getKey={({ label, relaxed }) => `${label} ${relaxed?.parameter}`}
        sort={{ column: 'cost', direction: 'desc' }}
        height={320}
      />
    </Section>
  );
}

/** Labels of the constraints that name one from the others, and of the binding bounds. */
interface Labels {
  readonly all: readonly string[];
  readonly binding: readonly string[];
}

const createConstraintColumns = (scale: ChangeScale, labels: Labels): readonly Column<ConstraintRow>[] => [
  {
    id: 'label',
    title: 'Constraint',
    width: 130,
    ideal: 240,
    grow: 2,
    priority: 0,
    lines: 2,
    // Without a shared parameter, the bound is that of one security or group, which is named.
    value: ({ label, relaxed }) => formatSide(label, labels.all, relaxed === undefined ? [] : labels.binding),
  },
  createFigureColumn('limit', 'Bound'),
  createFigureColumn('value', 'Value'),
  {
    id: 'headroom',
    title: 'Headroom',
    help: 'Distance from the value to the bound, which is binding at 0',
    width: 90,
    align: 'right',
    priority: 0,
    value: ({ slack, state }) => (state === 'met' ? slack : 0),
    copy: ({ slack, state }) => (state === 'met' ? slack : state),
    show: (row) => <Headroom row={row} binding={labels.binding} />,
  },
  ...createCostColumns(scale),
  {
    id: 'sentence',
    title: 'Explanation',
    width: 260,
    ideal: 700,
    grow: 3,
    priority: 9,
    below: 'nothing',
    value: ({ cost, relaxed }) =>
      formatSentences(
        [cost, relaxed].flatMap((one) => one?.sentence ?? []),
        labels.all,
      ),
  },
];

const createCostColumns = (scale: ChangeScale): readonly Column<ConstraintRow>[] => [
  {
    id: 'cost',
    title: `Cost${scale.unit}`,
    help: 'Deterioration of the objective caused by the constraint: the problem solved without it',
    width: 80,
    priority: 0,
    value: ({ cost }) => scale.cost(cost?.objective_without),
    write: scale.format,
  },
  {
    id: 'effect',
    title: `Effect${scale.unit}`,
    help: 'Change of the objective if the bound is relaxed by one step and the problem solved again: a fraction by one percentage point, a count by 1, other bounds by 0.01',
    width: 80,
    priority: 2,
    value: ({ relaxed }) => scale.step(relaxed?.effect),
    write: scale.format,
  },
  {
    id: 'price',
    title: `Shadow price${scale.unit} per bp`,
    help: 'Change of the objective by its slope, for each basis point by which the bound is relaxed (for each 1 if it is not a fraction); valid for small changes',
    width: 150,
    priority: 4,
    align: 'right',
    value: (row) => computePrice(row, scale),
    show: (row) => formatPrice(row, scale),
  },
];

const createFigureColumn = (id: 'limit' | 'value', title: string): Column<ConstraintRow> => ({
  id,
  title,
  width: 84,
  priority: 2,
  align: 'right',
  show: (row) => formatFigure(row[id], row),
});

const formatFigure = (figure: number | null, { unit }: ConstraintRow): string =>
  figure === null ? MISSING_TEXT : formatInUnit(figure, unit);

interface HeadroomProps {
  readonly row: ConstraintRow;
  /** Labels of the binding bounds. */
  readonly binding: readonly string[];
}

/** Renders the distance to the bound, or that the bound is binding or exceeded. */
function Headroom({ row, binding }: HeadroomProps) {
  const { state, label, slack } = row;
  if (state === 'met') return <>{formatFigure(slack, row)}</>;
  if (state === 'equality') return <>equality</>;
  return (
    <Badge
      kind={state === 'exceeded' ? 'warning' : 'info'}
      title={formatBindingBounds(listBindingSiblings(label, binding))}
    >
      {state === 'exceeded' ? 'exceeded' : formatBinding(label, binding)}
    </Badge>
  );
}

/** Returns the shadow price for one basis point of a fraction, otherwise for 1. */
function computePrice({ relaxed, unit }: ConstraintRow, { slope }: ChangeScale): number | null {
  if (relaxed === undefined) return null;
  return slope(relaxed.shadow_price * Math.sign(relaxed.change) * (unit === 'fraction' ? 0.0001 : 1));
}

function formatPrice(row: ConstraintRow, scale: ChangeScale): string {
  const price = computePrice(row, scale);
  return `${scale.format(price)}${price === null || row.unit === 'fraction' ? '' : ' per 1'}`;
}

/**
 * Replaces the labels of constraints in sentences with words: `Removing PositionBounds[pos] lowers ...` becomes `Removing
 * position bounds lowers ...`. Returns null if there are none.
 */
const formatSentences = (sentences: readonly string[], labels: readonly string[]): string | null =>
  sentences.length === 0
    ? null
    : sentences.join(' ').replaceAll(/\b[A-Z]\w+\[[^\]]*\]/g, (row) => {
        const words = formatRow(row, labels);
        return words.charAt(0).toLowerCase() + words.slice(1);
      });

interface NextSecuritiesProps {
  readonly run: OptimisationRunResult;
  readonly scale: ChangeScale;
  /** Data store of the index; undefined for the served store. */
  readonly store: string | undefined;
}

/** Renders the securities that would enter next. Renders nothing if the run has none. */
function NextSecurities({ run: { next_names: names = [] }, scale, store }: NextSecuritiesProps) {
  if (names.length === 0) return null;
  return (
    <Section title="Next securities to enter" aside="excluded only by their lower bound of 0">
      <Table
        label="next securities to enter"
        columns={createSecurityColumns(scale)}
        rows={names}
        getKey={({ identifier }) => identifier}
        formatAddress={({ identifier }) => formatSecurityAddress(identifier, store)}
        height={360}
      />
    </Section>
  );
}

const createSecurityColumns = ({ unit, format, slope }: ChangeScale): readonly Column<NextName>[] => [
  { id: 'name', title: 'Security', width: 100, grow: 2, value: ({ identifier }) => identifier },
  {
    id: 'marginal',
    title: `Marginal${unit} per 1%`,
    help: 'Change of the objective per percentage point of weight in the security, by its slope',
    width: 130,
    value: ({ marginal }) => slope(marginal * 0.01),
    write: format,
  },
  {
    id: 'expected',
    title: 'Expected return',
    help: 'Annualised, by the model of the run',
    width: 126,
    priority: 2,
    value: (row) => row.expected_return,
    write: formatPercent,
  },
  {
    id: 'entry',
    title: 'Enters from',
    help: 'Expected return above which the security is held',
    width: 110,
    value: (row) => row.entry_return,
    write: formatPercent,
  },
];

interface RunFiguresProps {
  readonly run: OptimisationRunResult;
  readonly measure: Measure;
  readonly terms: OptimiseTerms;
}

/** Renders the figures of an optimisation, the data of its risk model, and how good its solution is. */
function RunFigures({ run, measure, terms }: RunFiguresProps) {
  const aversion = getRiskAversion(terms);
  const tiles = createComparedTiles({ before: run.before, after: run, exceeded: run.exceeded ?? [] }, measure);
  const addAversion = (tile: LabelledFigure): LabelledFigure =>
    aversion === null
      ? tile
      : { ...tile, note: [tile.note, `risk aversion ${formatNumberFigure(aversion)}`].filter(Boolean).join('; ') };
  return (
    <Metrics
      label="Figures of the optimisation"
      metrics={[
        ...tiles.slice(0, 1).map(addAversion),
        ...tiles.slice(1),
        ...(run.costs == null
          ? []
          : [{ term: 'Costs', value: formatPercent(run.costs, 4), help: 'Cost of the trades as a fraction of value' }]),
        { term: 'Holdings', value: formatCount(run.holdings), ...createShortNote(run) },
        { term: 'Rebalance', value: run.rebalance_date, note: formatRiskNote(run), help: riskDates(run) },
        createSolutionTile(run),
      ]}
    />
  );
}

/** Returns the risk aversion of the objective of a request; null if the objective has none. */
function getRiskAversion({ objective }: OptimiseTerms): number | null {
  const aversion = isObject(objective) ? objective['risk_aversion'] : undefined;
  return typeof aversion === 'number' ? aversion : null;
}

/** Gap below which a selection of securities counts as optimal. A smaller gap would be shown as zero. */
const GAP_SHOWN_MIN = 5e-5;

/** Returns how good the solution is: optimal, or at most this far from the best selection of securities. */
function createSolutionTile({ converged, heuristic, gap, solver_message: message }: OptimisationRunResult) {
  if (!converged) return { term: 'Solution', value: 'not proven', kind: 'down', note: message };
  if (heuristic && gap !== null && gap >= GAP_SHOWN_MIN)
    return { term: 'Solution', value: `gap ${formatPercent(gap)}`, note: 'from the bound over all selections' };
  return { term: 'Solution', value: 'optimal', help: message };
}

/** Returns a note with the number of long and short positions, if some positions are short. */
function createShortNote({ holdings, gross_holdings: all }: OptimisationRunResult) {
  return all === undefined || all === holdings ? {} : { note: `${formatCount(all)} positions, long and short` };
}

function formatRiskNote({ risk_model: model }: OptimisationRunResult): string {
  if (model === undefined) return 'risk from past returns';
  const by = model.model_id === null ? model.estimator : `the model ${model.model_id}`;
  return `risk by ${by}, ${formatCount(model.sessions)} returns`;
}

/** Describes the dates of the returns of the risk model. */
const riskDates = ({ risk_model: model, start, end }: OptimisationRunResult): string =>
  `Risk from returns from ${model?.start ?? start} to ${model?.end ?? end}`;

/** Page of one optimisation: its progress, its result, or the reason for the lack of a result. */
export function RunPage({ params }: PageProps) {
  const id = params['run'] ?? '';
  const job = useAnswer('getJob', { params: { job_id: `optimise:${id}` } });
  const status = getJob(`optimise:${id}`) ?? job.data;
  const requestedTerms = createRequestedTerms(job.data?.request);
  const back = formatAddress('/console/optimise', {
    index: requestedTerms.index,
    set: requestedTerms.set,
    terms: requestedTerms.terms,
  });
  return (
    <Page
      title={requestedTerms.index === null ? id : `${requestedTerms.index} under constraint set ${requestedTerms.set}`}
      above={[{ address: '/console/optimise', text: 'Optimise' }]}
      actions={
        <>
          <LinkButton href={back}>Change the constraints</LinkButton>
          {requestedTerms.index !== null && may('write') && <SaveLink id={id} asked={requestedTerms} back={back} />}
        </>
      }
    >
      <Answered resource={job} what="the job">
        {(first) => (
          <>
            {first.error?.code === 'LOOK_AHEAD' && requestedTerms.index !== null ? (
              <LookAhead
                message={first.error.message}
                detail={first.error.detail}
                indexId={requestedTerms.index}
                onModel={(model) =>
                  navigate(
                    formatAddress('/console/optimise', {
                      ...requestedTerms,
                      terms: formatModel(requestedTerms, model),
                    }),
                  )
                }
              />
            ) : (
              <JobState job={status ?? first} />
            )}
            {first.status === 'failed' && first.error?.code === 'INFEASIBLE' && (
              <NotFeasible error={first.error} set={requestedTerms.set} back={back} />
            )}
            {first.status === 'succeeded' && <Result id={id} asked={requestedTerms} />}
          </>
        )}
      </Answered>
    </Page>
  );
}

interface RequestedTerms {
  readonly index: string | null;
  readonly set: string | null;
  /** Terms as JSON text for the address. */
  readonly terms: string | null;
}

const REQUEST_MEMBERS = [
  'objective',
  'expected_returns',
  'uncertainty',
  'costs',
  'risk_model',
  'scenario_views',
  'candidates',
];

function createRequestedTerms(request: unknown): RequestedTerms {
  const runRequest = request as Json | undefined;
  if (!isObject(runRequest)) return { index: null, set: null, terms: null };
  const terms = Object.entries(runRequest).filter(([name, value]) => REQUEST_MEMBERS.includes(name) && value !== null);
  return {
    index: String(runRequest['index_id']),
    set: String(runRequest['constraint_set_id']),
    terms: terms.length === 0 ? null : JSON.stringify(Object.fromEntries(terms)),
  };
}

const formatModel = ({ terms }: RequestedTerms, model: string): string =>
  JSON.stringify({ ...parseTerms(terms), risk_model: model });

interface NotFeasibleProps {
  readonly error: { readonly message: string; readonly detail: Readonly<Record<string, unknown>> | null };
  readonly set: string | null;
  readonly back: string;
}

/**
 * Renders why a run is infeasible. A button saves a relaxation in the constraint set of the run and opens the page of
 * the set.
 */
function NotFeasible({ error, set, back }: NotFeasibleProps) {
  const stored = useResource(set === null ? null : `constraint set ${set}`, (signal) =>
    service.value.callWithEtag('getConstraintSet', { params: { constraint_set_id: set ?? '' }, signal }),
  );
  const { answer, etag } = stored.data ?? {};
  if (answer === undefined) return null;
  return (
    <Infeasible
      message={error.message}
      detail={error.detail}
      rows={asRows(answer.constraints)}
      onRows={async (rows) => {
        const body = { ...answer, constraints: asConstraints(rows) };
        await service.value.call('putConstraintSet', {
          params: { constraint_set_id: answer.id },
          body,
          ifMatch: etag ?? undefined,
        });
        navigate(back);
      }}
    />
  );
}

function Result({ id, asked }: { readonly id: string; readonly asked: RequestedTerms }) {
  const result = useAnswer('getOptimisation', { params: { run_id: id } });
  const types = useObjectiveTypes();
  return (
    <Answered resource={types} what="the objectives">
      {(known) => (
        <Answered resource={result} what="the result">
          {(run) => <RunResult run={run} measure={measureOf(run, known)} asked={asked} />}
        </Answered>
      )}
    </Answered>
  );
}

/** Returns the address of an optimisation under the same constraints that gives a point of the frontier. */
function findPointAddress(point: FrontierPoint, { index, set, terms }: RequestedTerms): string | null {
  const pointTerms = findPointTerms(point, parseTerms(terms));
  return pointTerms && formatAddress('/console/optimise', { index, set, terms: JSON.stringify(pointTerms) });
}

/** Returns the address of the form that saves a point of the frontier as an index. */
function findSaveAddress(point: FrontierPoint, asked: RequestedTerms): string | null {
  const address = asked.index === null ? null : findPointAddress(point, asked);
  return address && addDerive(address);
}

interface SaveLinkProps {
  readonly id: string;
  readonly asked: RequestedTerms;
  /** Address of the optimisation of the run. */
  readonly back: string;
}

/**
 * Renders the link to the form that saves the displayed portfolio as an index: the solution, or the selected point of the
 * frontier. Renders nothing until the point is known.
 */
function SaveLink({ id, asked, back }: SaveLinkProps) {
  const named = getParameter('point');
  const result = useAnswer('getOptimisation', named === null ? null : { params: { run_id: id } });
  if (named === null)
    return (
      <LinkButton kind="main" href={addDerive(back)}>
        Save as an index
      </LinkButton>
    );
  const chosen = result.data?.frontier == null ? undefined : findChosenPoint(result.data.frontier, named);
  const address = chosen === undefined ? null : findSaveAddress(chosen.point, asked);
  if (chosen === undefined || address === null) return null;
  return (
    <LinkButton kind="main" href={address}>
      Save {chosen.number === null ? 'the tangency portfolio' : `point ${chosen.number}`} as an index
    </LinkButton>
  );
}

/** Adds the request to open the form that derives an index. */
const addDerive = (address: string): string => `${address}${address.includes('?') ? '&' : '?'}derive=1`;

interface ResultOfProps {
  readonly run: OptimisationRunResult;
  readonly measure: Measure;
}

function RunResult({ run, measure, asked }: ResultOfProps & { readonly asked: RequestedTerms }) {
  const scale = createChangeScale(run, measure);
  const indices = useList('indices');
  const store = indices.data?.indices.find(({ id }) => id === run.index_id)?.store_id ?? undefined;
  const named = getParameter('point');
  const point = run.frontier === null || named === null ? undefined : findChosenPoint(run.frontier, named);
  const facts = useNames(
    indices.data === undefined ? [] : run.weights.map(({ identifier }) => identifier),
    run.rebalance_date,
    store,
  );
  const bindingLabels = useMemo(() => listBindingLabels(run), [run]);
  const uncovered = useMemo(() => listUncoveredSecurities(bindingLabels), [bindingLabels]);
  const pointWeights = point?.point.weights;
  const pointRows = useMemo(
    () => pointWeights && createPointRows(run.weights, pointWeights),
    [run.weights, pointWeights],
  );
  const { findings, frontierFindings } = separateFindings(run, uncovered);
  const notes = findings.length > 0 && <Findings findings={findings} />;
  return (
    <>
      {point === undefined ? (
        <RunFigures run={run} measure={measure} terms={parseTerms(asked.terms)} />
      ) : (
        <PointSummary chosen={point} run={run} optimiseAddress={findPointAddress(point.point, asked)}>
          {notes}
        </PointSummary>
      )}
      {point === undefined && notes}
      {point === undefined && <ConstraintTable run={run} measure={measure} scale={scale} />}
      <ActiveBars rows={pointRows ?? run.weights} {...{ run, facts, point, bindingLabels, uncovered }} />
      <Weights {...{ run, pointRows, facts, uncovered, store }} />
      {point === undefined && <NextSecurities run={run} scale={scale} store={store} />}
      {frontierFindings.length > 0 && <Findings findings={frontierFindings} />}
      {run.frontier !== null && (
        <Frontier
          frontier={run.frontier}
          hasReturns={run.expected_return !== null}
          formatAddress={(frontierPoint) => findPointAddress(frontierPoint, asked)}
        />
      )}
    </>
  );
}

/** Separates the findings about the frontier. Names the largest excluded securities before the others. */
function separateFindings({ findings, weights }: OptimisationRunResult, uncovered: ReadonlySet<string>) {
  const frontierFindings = findings.filter(({ code }) => code.startsWith('FRONTIER'));
  const excluded = formatUncovered(
    weights.map(({ identifier, index_weight: weight }) => ({ identifier, weight })),
    uncovered,
  );
  const others = findings.filter((finding) => !frontierFindings.includes(finding));
  return { findings: prependSentence(others, excluded), frontierFindings };
}

interface WeightsProps {
  readonly run: OptimisationRunResult;
  /** Weights of the selected frontier point; undefined for the weights of the solution. */
  readonly pointRows: readonly PointRow[] | undefined;
  readonly facts: ReadonlyMap<string, NameFacts>;
  /** Securities that were excluded because they have no risk estimate. */
  readonly uncovered: ReadonlySet<string>;
  readonly store: string | undefined;
}

/** Renders the weights of the solution, or those of a frontier point next to them. */
function Weights({ run, pointRows, facts, uncovered, store }: WeightsProps) {
  const shared = {
    label: 'weights of the optimisation',
    name: 'weights',
    getKey: ({ identifier }: WeightRow) => identifier,
    formatAddress: ({ identifier }: WeightRow) => formatSecurityAddress(identifier, store),
    searchIn: ({ identifier }: WeightRow) => `${identifier} ${facts.get(identifier)?.name ?? ''}`,
    sort: { column: 'weight', direction: 'desc' },
    height: 360,
  } as const;
  return (
    <Section title="Weights" aside={<a href={formatIndexAddress(run.index_id)}>{run.index_id}</a>}>
      {pointRows === undefined ? (
        <Table {...shared} columns={createWeightColumns(facts, uncovered)} rows={run.weights} />
      ) : (
        <Table<PointRow> {...shared} columns={createPointColumns(facts, uncovered)} rows={pointRows} />
      )}
    </Section>
  );
}
