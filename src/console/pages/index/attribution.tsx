import type {
  AttributionView,
  ContributionPayload,
  FactorAttributionView,
  GroupAttributionRow,
  GroupAttributionView,
  PerformanceView,
} from '#clients/typescript/divisor.js';
import { Choice, Select } from '../../components/controls/choice.js';
import { ExportMenu } from '../../components/controls/menu.js';
import { findChosenRange, RangeBar } from '../../components/controls/range.js';
import { Answered, Findings, Wait } from '../../components/feedback.js';
import { Bars } from '../../components/layout/bars.js';
import { addPoints, addSign, type LabelledFigure, Metrics } from '../../components/layout/facts.js';
import { Section } from '../../components/layout/page.js';
import { awaitNames, listGroupColumns, NoGroupColumn, useNameAddress } from '../../components/securities.js';
import { type Column } from '../../components/table/model.js';
import { Table } from '../../components/table/table.js';
import { getParameter, setParameters } from '../../state/location.js';
import { useFieldsOfRun, useNames } from '../../state/market.js';
import { readShownRun } from '../../state/runs.js';
import { useAnswer, useList } from '../../state/service.js';
import { addReturn, formatFactor, formatLabel, returnText } from '../../words/labels.js';
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
import { createGroupSteps, createSteps, listContributors, splitBySign, sumContributions } from './attribution-steps.js';
import type { RunPartProps } from './run-tabs.js';

interface AttributionTotalProps {
  readonly view: AttributionView;
  /** Contributions by sector. Null if the store has no sectors, undefined while they are loading. */
  readonly groups: GroupAttributionView | null | undefined;
  /** Return variant of the run; undefined while it is loading. */
  readonly variant: PerformanceView['return_variant'] | undefined;
}

/** Renders the return of the range as a sum: gains, losses, and the steps from zero to the total. */
function AttributionTotal({ view, groups, variant }: AttributionTotalProps) {
  const hasSectors = groups !== null && (groups === undefined || groups.groups.length > 1);
  // The sectors of an overlay do not show its own parts, such as a fee.
  const usual = view.overlay_parts === null ? 'sector' : 'security';
  const by = hasSectors ? (STEPS_BY.find(({ value }) => value === getParameter('steps'))?.value ?? usual) : 'security';
  const windowText = `${view.start.slice(0, 10)} to ${view.end.slice(0, 10)}`;
  return (
    <>
      <Metrics label={`Attribution from ${windowText}`} metrics={listMetrics(view)} />
      <Section
        title="Steps to the total"
        aside={
          hasSectors && (
            <Choice
              label="Steps by"
              options={STEPS_BY}
              value={by}
              onChoose={(chosen) => setParameters({ steps: chosen === usual ? null : chosen })}
            />
          )
        }
      >
        <p class="quiet">{formatBasis(view, variant)}</p>
        {by === 'sector' && groups == null ? (
          <Wait what="the sectors" skeleton={<span class="skeleton skeleton-chart" aria-hidden="true" />} />
        ) : (
          <Bars
            label="Contributions, step by step"
            bars={
              by === 'sector' && groups != null ? createGroupSteps(groups.groups, view.total_return) : createSteps(view)
            }
            isRunning
            heads={['Contribution', 'Average weight', ...(by === 'sector' ? [] : ['Return'])]}
            format={formatPoints}
          />
        )}
      </Section>
    </>
  );
}

/** States the return that is attributed, and how the contributions of the sessions are added. */
function formatBasis({ cost_drag: cost }: AttributionView, variant: AttributionTotalProps['variant']): string {
  const basis = variant === undefined ? 'return' : returnText(variant);
  const costs = cost === null || cost === 0 ? 'the run has no transaction cost' : 'after transaction costs';
  return `Attributed: the ${basis}, ${costs}. Contributions of sessions are linked (Cariño), so that they add up to it.`;
}

const STEPS_BY = [
  { value: 'sector', text: 'Sectors' },
  { value: 'security', text: 'Securities' },
] as const;

/** Returns the figures of the attribution. Gains, losses and overlay parts sum to the return. */
function listMetrics(view: AttributionView): readonly LabelledFigure[] {
  const { total_return: total, cost_drag: cost, cap_drag: cap, overlay_parts_sum: parts } = view;
  const { reconciles, residual, periods } = view;
  const { gains, losses } = splitBySign(view.contributions);
  const part = (term: string, value: number | null, note: string, help: string): readonly LabelledFigure[] =>
    value === null ? [] : [{ term, value: formatPoints(value), kind: getSignClass(value), note, help }];
  return [
    {
      term: 'Return of the portfolio',
      value: formatChange(total),
      kind: getSignClass(total),
      note: `${formatCount(periods)} sessions`,
      help: 'After costs: the sum of all contributions',
    },
    ...part('Gains', sumContributions(gains), ofSecurities(gains.length), 'Sum of the contributions above 0'),
    ...part('Losses', sumContributions(losses), ofSecurities(losses.length), 'Sum of the other contributions'),
    ...part('Overlay', parts, 'in addition to the securities', 'Return of the overlay apart from its securities'),
    ...part('Costs', cost, 'within the gains and losses', 'Direct effect of transaction costs on the contributions'),
    ...part('Effect of the cap', cap, 'index minus uncapped index', 'A comparison of two indices, which is not a step'),
    {
      term: 'Unexplained',
      value: formatPoints(residual),
      kind: reconciles ? '' : 'down',
      help: 'Return of the portfolio minus the sum of all contributions',
      note: <Residual value={residual} />,
    },
  ];
}

const ofSecurities = (size: number): string => countValues(size, 'security', 'securities');

/** Renders the residual of a sum. If it is a rounding error, it is shown as 0 and its exact value is folded. */
export const Residual = ({ value }: { readonly value: number }) =>
  formatResidual(value) === formatFigure(value) ? (
    <>residual {formatFigure(value)}</>
  ) : (
    <details>
      <summary>residual {formatResidual(value)}</summary>
      {formatFigure(value)} before rounding
    </details>
  );

const MODELS = [
  { value: 'styles', text: 'Styles' },
  { value: 'market_sector', text: 'Market and sectors' },
] as const;

/** Renders the return of a range attributed to factors, and the rest that they do not explain. */
function FactorAttribution({ id }: { readonly id: string }) {
  const range = findChosenRange();
  const model = MODELS.find(({ value }) => value === getParameter('factors'))?.value ?? 'styles';
  const query = { ...readShownRun(), model, ...(range === null ? {} : { start: range.from, end: range.to }) };
  const view = useAnswer('getFactorAttribution', { params: { index_id: id }, query }, { keeps: true });
  return (
    <Section
      title="By factor"
      aside={
        <Choice
          label="Factors"
          options={MODELS}
          value={model}
          onChoose={(chosen) => setParameters({ factors: chosen === 'styles' ? null : chosen })}
        />
      }
    >
      <Answered resource={view} what="the attribution by factor">
        {(found) => <Factors view={found} />}
      </Answered>
    </Section>
  );
}

type FactorGroup = 'Market' | 'Sectors' | 'Styles' | 'Specific' | 'Other';

const GROUPS: readonly FactorGroup[] = ['Market', 'Sectors', 'Styles', 'Specific', 'Other'];

/** Returns the group of a factor. Names of styles have only capital letters, those of sectors do not. */
const findGroup = (factor: string): FactorGroup =>
  factor === 'MARKET' ? 'Market' : factor === formatFactor(factor) ? 'Sectors' : 'Styles';

/** Factor of the model, or the rest that the factors do not explain. */
interface Row {
  readonly name: string;
  readonly group: FactorGroup;
  readonly exposure: number | null;
  readonly contribution: number;
}

function Factors({ view }: { readonly view: FactorAttributionView }) {
  const { factors, specific, other, total_return: total, covered_weight: covered } = view;
  const rows: readonly Row[] = [
    ...factors.map(({ factor, average_exposure: exposure, contribution }) => ({
      name: formatFactor(factor),
      group: findGroup(factor),
      exposure,
      contribution,
    })),
    { name: 'Security-specific return', group: 'Specific', exposure: null, contribution: specific },
    {
      name: 'Costs, overlays and securities without a regression',
      group: 'Other',
      exposure: null,
      contribution: other,
    },
  ];
  return (
    <>
      <Findings findings={view.findings} />
      <Metrics
        label="Contributions of groups of factors"
        metrics={GROUPS.flatMap((group) => {
          const groupRows = rows.filter((row) => row.group === group);
          const sum = groupRows.reduce((partial, { contribution }) => partial + contribution, 0);
          return groupRows.length === 0 ? [] : [{ term: group, value: formatPoints(sum), kind: getSignClass(sum) }];
        })}
      />
      <Table
        label="attribution by factor"
        name="by-factor"
        columns={COLUMNS}
        rows={rows}
        getKey={({ name }) => name}
        sort={{ column: 'contribution', direction: 'desc' }}
      />
      <p class="quiet">
        Together {formatPoints(total)}. Regressions have {formatPercent(covered)} of the weight.
      </p>
    </>
  );
}

const COLUMNS: readonly Column<Row>[] = [
  { id: 'factor', title: 'Factor', width: 200, grow: 1, value: ({ name }) => name },
  { id: 'group', title: 'Group', width: 92, priority: 3 },
  {
    id: 'exposure',
    title: 'Average exposure',
    help: 'Mean exposure of the weights held: of a sector its weight, of a style in standard deviations (SD)',
    width: 130,
    priority: 2,
    align: 'right',
    show: ({ exposure, group }) =>
      exposure !== null && group === 'Sectors'
        ? formatPercent(exposure)
        : `${formatDecimal(exposure, 3)}${exposure !== null && group === 'Styles' ? ' SD' : ''}`,
  },
  {
    id: 'contribution',
    adds: true,
    title: 'Contribution',
    help: 'Exposure times return of the factor, linked over the range',
    width: 110,
    write: addPoints,
  },
];

/** Address value for attribution without a benchmark. */
const NO_EFFECT = '-';

/** Returns the index against which the attribution is computed: the index in the address, or the benchmark of the run. */
function useReference(id: string) {
  const indices = useList('indices');
  const otherIndices = (indices.data?.indices ?? []).filter(({ id: other }) => other !== id);
  const performance = useAnswer('getPerformance', { params: { index_id: id }, query: readShownRun() });
  // The default benchmark is the benchmark of the run if that is an index.
  const usual = otherIndices.find(({ id: other }) => other === performance.data?.benchmark)?.id ?? null;
  const requestedReference = getParameter('against');
  const isRunKnown = requestedReference !== null || performance.data !== undefined || performance.trouble !== null;
  return {
    options: [
      { value: NO_EFFECT, text: 'No benchmark' },
      ...otherIndices.map(({ id: other }) => ({ value: other, text: other })),
    ],
    variant: performance.data?.return_variant,
    usual,
    against: requestedReference === NO_EFFECT ? null : (requestedReference ?? usual),
    isKnown: isRunKnown && indices.data !== undefined,
  };
}

/**
 * Renders the attribution of the return of a range: cumulative steps, groups and securities. Without a benchmark, the
 * steps state everything about the sectors.
 */
export function Attribution({ id, run }: RunPartProps) {
  const range = findChosenRange();
  const window = { ...readShownRun(), ...(range === null ? {} : { start: range.from, end: range.to }) };
  const { options, variant, usual, against, isKnown } = useReference(id);
  const fields = useFieldsOfRun(run);
  const hasNoSectors = listGroupColumns(fields.data)?.includes('SECTOR') === false;
  const areFieldsKnown = fields.data !== undefined || fields.trouble !== null;
  const names = useAnswer('getAttribution', { params: { index_id: id }, query: window }, { keeps: true });
  const query = { ...window, ...(against === null ? {} : { benchmark: against }) };
  const groups = useAnswer(
    'getGroupAttribution',
    isKnown && areFieldsKnown && !hasNoSectors ? { params: { index_id: id }, query } : null,
    { keeps: true },
  );
  return (
    <div class="stack gap-4 index-part">
      <div class="flow spread gap-2">
        <RangeBar start={run.start} end={run.end} />
        {!hasNoSectors && (
          <Select
            label="Against"
            isLabelShown
            options={options}
            value={against ?? NO_EFFECT}
            onChoose={(other) => setParameters({ against: other === (usual ?? NO_EFFECT) ? null : other })}
          />
        )}
      </div>
      <Answered resource={names} what="the attribution">
        {(view) => (
          <AttributionTotal
            view={view}
            variant={variant}
            groups={groups.data ?? (hasNoSectors || groups.trouble !== null ? null : undefined)}
          />
        )}
      </Answered>
      {(hasNoSectors || against !== null || groups.trouble !== null) && (
        <Section title="By sector">
          {hasNoSectors ? (
            <NoGroupColumn purpose="the attribution by sector" />
          ) : (
            <Answered resource={groups} what="the attribution by group">
              {(view) => (
                <>
                  <ActiveReturn view={view} />
                  <Table
                    label="attribution by sector"
                    columns={GROUP_COLUMNS}
                    rows={view.groups}
                    getKey={({ group }) => group}
                    sort={{ column: 'contribution', direction: 'desc' }}
                  />
                </>
              )}
            </Answered>
          )}
        </Section>
      )}
      <FactorAttribution id={id} />
      <Section title="By security" aside={<ExportMenu id={id} table="attribution" />}>
        <Answered resource={names} what="the attribution by security">
          {(view) => <BySecurity view={view} />}
        </Answered>
      </Section>
    </div>
  );
}

type NameRow = ContributionPayload & { readonly company: string | null };

function BySecurity({ view }: { readonly view: AttributionView }) {
  const { end } = view;
  const contributions = listContributors(view.contributions);
  const formatNameAddress = useNameAddress();
  const facts = useNames(
    contributions.map(({ asset_id: name }) => name),
    end.slice(0, 10),
  );
  const rows = contributions.map((row): NameRow => ({ ...row, company: facts.get(row.asset_id)?.name ?? null }));
  return (
    <Table
      label="attribution by security"
      name="names"
      columns={awaitNames(NAME_COLUMNS, facts, ['company'])}
      rows={rows}
      getKey={({ asset_id: name }) => name}
      formatAddress={({ asset_id: name }) => formatNameAddress(name)}
      searchIn={({ asset_id: name, company }) => `${name} ${company ?? ''}`}
      sort={{ column: 'contribution', direction: 'desc' }}
      height={480}
    />
  );
}

/**
 * Renders the returns of the index and the benchmark, and the total effects of all groups. Renders nothing if there is
 * no benchmark.
 */
function ActiveReturn({ view }: { readonly view: GroupAttributionView }) {
  const { effects, benchmark, findings } = view;
  if (effects === null || benchmark === null) return null;
  const createTerm = (name: string, value: number | null, help: string, write = formatPoints) =>
    value === null ? [] : [{ term: name, value: write(value), kind: getSignClass(value), help }];
  return (
    <>
      <Findings findings={findings} />
      <Metrics
        label={`Active return against ${benchmark}`}
        metrics={[
          ...createTerm(
            `Portfolio, ${returnText(view.return_variant)}`,
            view.total_return,
            'After costs',
            formatChange,
          ),
          ...createTerm(
            addReturn(benchmark, view.benchmark_variant),
            view.benchmark_return,
            'Of the benchmark',
            formatChange,
          ),
          ...createTerm('Active return', view.active_return, 'Return minus benchmark return: the sum of the effects'),
          ...createTerm('Allocation', effects.allocation, 'All groups: effect of different group weights'),
          ...createTerm('Selection', effects.selection, 'All groups: effect of different securities within groups'),
          ...createTerm('Interaction', effects.interaction, 'All groups: combined effect of both'),
        ]}
      />
    </>
  );
}

const GROUP_COLUMNS: readonly Column<GroupAttributionRow>[] = [
  { id: 'group', title: 'Sector', width: 120, grow: 2 },
  {
    id: 'weight',
    adds: true,
    title: 'Average weight',
    help: 'Mean weight at the beginning of the sessions',
    width: 118,
    value: ({ average_weight: weight }) => weight,
    write: formatPercent,
  },
  {
    id: 'benchmark-weight',
    adds: true,
    title: 'Benchmark weight',
    help: 'Mean weight in the benchmark',
    width: 128,
    priority: 5,
    value: ({ benchmark_average_weight: weight }) => weight,
    write: formatPercent,
  },
  {
    id: 'return',
    title: 'Return',
    help: 'Return of the sector over the sessions in which it has a weight, after costs',
    width: 84,
    priority: 3,
    value: ({ total_return: totalReturn }) => totalReturn,
    write: addSign,
  },
  {
    id: 'benchmark-return',
    title: 'Benchmark return',
    help: 'Return of the sector in the benchmark',
    width: 128,
    priority: 3,
    value: ({ benchmark_return: benchmarkReturn }) => benchmarkReturn,
    write: addSign,
  },
  { id: 'contribution', adds: true, title: 'Contribution', width: 104, write: addPoints },
  ...(['allocation', 'selection', 'interaction'] as const).map((effect): Column<GroupAttributionRow> => ({
    id: effect,
    adds: true,
    title: formatLabel(effect),
    width: 96,
    priority: effect === 'interaction' ? 4 : 2,
    write: addPoints,
  })),
  {
    id: 'total',
    adds: true,
    title: 'Total',
    help: 'Sum of allocation, selection and interaction: part of the active return',
    width: 84,
    priority: 6,
    value: ({ allocation, selection, interaction }) =>
      allocation === null ? null : allocation + selection! + interaction!,
    write: addPoints,
  },
];

const NAME_COLUMNS: readonly Column<NameRow>[] = [
  {
    id: 'name',
    title: 'Security',
    width: 100,
    grow: 1,
    value: ({ asset_id: name }) => name,
    show: ({ asset_id: name }) => <strong>{name}</strong>,
  },
  { id: 'company', title: 'Company', width: 120, grow: 2, priority: 3 },
  {
    id: 'weight',
    adds: true,
    title: 'Average weight',
    help: 'Mean weight at the beginning of the sessions',
    width: 118,
    value: ({ average_weight: weight }) => weight,
    write: formatPercent,
  },
  {
    id: 'return',
    title: 'Return',
    help: 'Return of the security over the sessions in which it was held',
    width: 92,
    priority: 2,
    value: ({ total_return: totalReturn }) => totalReturn,
    write: addSign,
  },
  { id: 'contribution', adds: true, title: 'Contribution', width: 104, write: addPoints },
];
