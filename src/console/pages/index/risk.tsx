import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import type {
  LevelsView,
  OverviewView,
  PerformanceView,
  RiskDecomposition,
  RollingRiskView,
  TotalRiskDecomposition,
  WeightsView,
} from '#clients/typescript/divisor.js';
import { Chart } from '../../components/chart/chart.js';
import { type Line, PERCENT_UNIT } from '../../components/chart/series.js';
import { Choice, Select } from '../../components/controls/choice.js';
import { ExportMenu } from '../../components/controls/menu.js';
import { chooseRange, findChosenRange, RangeBar } from '../../components/controls/range.js';
import { Answered, FiguresSkeleton, Findings } from '../../components/feedback.js';
import { type BarEntry, Bars } from '../../components/layout/bars.js';
import { keepWordsWhole, type LabelledFigure, Metrics } from '../../components/layout/facts.js';
import { Section } from '../../components/layout/page.js';
import { addQuery, getParameter, setParameters } from '../../state/location.js';
import { useNames } from '../../state/market.js';
import { useModelsOfStore } from '../../state/risk-models.js';
import { formatRunKey, readShownRun } from '../../state/runs.js';
import { createTrouble, service, useAnswer, useList, useResource } from '../../state/service.js';
import { formatFactor, returnText } from '../../words/labels.js';
import { formatEstimation } from '../../words/methodology.js';
import { formatChange, formatCount, formatDecimal, formatPercent, formatPoints } from '../../words/numbers.js';
import { compareWith, computeReturns, computeValueAtRisk, countSessionsOfYear } from '../../words/statistics.js';

/** Active or total risk, split by factor. */
type FactorDecomposition = RiskDecomposition | TotalRiskDecomposition;

/**
 * Renders the contribution of each factor to the volatility or the tracking error, the largest first, its share of the
 * variance, and the exposure.
 */
function FactorBars({ view }: { readonly view: FactorDecomposition }) {
  const { factors, contributions, exposures, factor_share: factorShare, total_variance: variance } = view;
  const isActive = 'benchmark' in view;
  const risk = isActive ? view.tracking_error : view.volatility;
  const createBar = (label: string, share: number, exposure: number | null = null) => ({
    label,
    value: share * risk,
    cells: [
      share < 0 ? formatChange(share, 1) : formatPercent(share, 1),
      exposure === null ? '' : formatDecimal(exposure, 3),
    ],
  });
  return (
    <Bars
      isPlain
      label={`Contribution of each factor to the ${isActive ? 'active' : 'total'} risk`}
      heads={[
        'Contribution',
        isActive ? 'Share of active variance' : 'Share of variance',
        isActive ? 'Active exposure' : 'Exposure',
      ]}
      bars={[
        ...factors
          .map((factor) =>
            createBar(formatFactor(factor), (contributions[factor] ?? 0) * factorShare, exposures[factor]),
          )
          .toSorted((a, b) => b.value - a.value),
        createBar('Specific', variance === 0 ? 0 : 1 - factorShare),
        { ...createBar('Total', variance === 0 ? 0 : 1), isText: true, isTotal: true },
      ]}
      format={formatPoints}
    />
  );
}

interface RiskBarsProps {
  readonly weights: WeightsView['weights'];
  readonly risk: NonNullable<WeightsView['risk']>;
  readonly asOf: string;
}

/**
 * Renders the risk contributions of securities or of sectors, with their signs, shares and weights. A sector opens to
 * its securities.
 */
function RiskBars({ weights, risk, asOf }: RiskBarsProps) {
  const facts = useNames(
    weights.map(({ identifier }) => identifier),
    asOf,
  );
  const by = getParameter('risk_by') === 'sector' ? 'sector' : 'security';
  const sector = getParameter('risk_sector');
  const securities = weights.flatMap(({ identifier, weight, risk_contribution: value }) =>
    value === null ? [] : [{ identifier, value, weight, group: facts.get(identifier)?.sector ?? 'No sector' }],
  );
  const hasSectors = [...facts.values()].some((fact) => fact.sector != null);
  const isOfSectors = by === 'sector' && sector === null && hasSectors;
  const parts: readonly Part[] = isOfSectors
    ? [...new Set(securities.map(({ group }) => group))].map((label) => ({
        ...addUp(
          label,
          securities.filter(({ group }) => group === label),
        ),
        address: addQuery({ risk_sector: label }),
      }))
    : securities
        .filter(({ group }) => sector === null || group === sector)
        .map(({ identifier, value, weight }) => ({
          label: identifier,
          name: facts.get(identifier)?.name ?? null,
          value,
          weight,
          address: addQuery({ tab: 'constituents', name: identifier }),
        }));
  const createBar = ({ weight, ...bar }: Part): BarEntry => ({
    ...bar,
    cells: [
      risk.volatility === 0 ? formatPercent(0) : formatPercent(bar.value / risk.volatility),
      formatPercent(weight),
    ],
  });
  const total = addUp(sector ?? 'Total', parts);
  return (
    <>
      {hasSectors && (
        <div class="flow spread gap-2">
          <Choice
            label="Contributions of"
            options={PARTS}
            value={by}
            onChoose={(chosen) => setParameters({ risk_by: chosen === 'sector' ? chosen : null, risk_sector: null })}
          />
          {sector !== null && <a href={addQuery({ risk_sector: null })}>{sector}: back to all</a>}
        </div>
      )}
      <Bars
        label="Contributions to volatility"
        heads={['Contribution', 'Share of risk', 'Weight']}
        bars={[
          ...selectExtremes(parts.toSorted((a, b) => b.value - a.value)).map(createBar),
          { ...createBar(total), isText: true, isTotal: true },
        ]}
        format={formatPoints}
        isPlain
      />
    </>
  );
}

/** Security or sector that contributes to the volatility. */
interface Part extends Pick<BarEntry, 'label' | 'name' | 'value' | 'isText' | 'address'> {
  readonly weight: number;
}

const PARTS = [
  { value: 'security', text: 'Securities' },
  { value: 'sector', text: 'Sectors' },
] as const;

const addUp = (label: string, parts: readonly Pick<Part, 'value' | 'weight'>[]): Part => ({
  label,
  value: parts.reduce((sum, { value }) => sum + value, 0),
  weight: parts.reduce((sum, { weight }) => sum + weight, 0),
});

/**
 * Returns the largest risk contributions, those that reduce the risk most, and the sum of all others. The sum has no
 * bar, because it would set the scale.
 */
function selectExtremes(parts: readonly Part[]): readonly Part[] {
  if (parts.length <= PARTS_MAX + REDUCING_PARTS_MAX) return parts;
  const reducing = parts.slice(-REDUCING_PARTS_MAX).filter(({ value }) => value < 0);
  const others = parts.slice(PARTS_MAX, parts.length - reducing.length);
  return [
    ...parts.slice(0, PARTS_MAX),
    ...reducing,
    { ...addUp(`${formatCount(others.length)} others`, others), isText: true },
  ];
}

/** Number of bars for the largest contributions, and for contributions that reduce risk. */
const PARTS_MAX = 12;
const REDUCING_PARTS_MAX = 4;

interface RiskFiguresProps {
  readonly id: string;
  readonly run: OverviewView;
  /** Index relative to which beta and tracking error are computed; null for figures without a reference. */
  readonly against: string | null;
  /** Selector of the reference, in the row of the date range. */
  readonly children: ComponentChildren;
}

/** Renders a selector of the date range, and the realised risk of the portfolio in that range. */
function RiskFigures({ id, run, against, children }: RiskFiguresProps) {
  const range = findChosenRange();
  const query = { ...readShownRun(), ...(range === null ? {} : { start: range.from, end: range.to }) };
  const ownFigures = useAnswer('getPerformance', { params: { index_id: id }, query }, { keeps: true });
  const isOther = against !== null && ownFigures.data !== undefined && ownFigures.data.benchmark !== against;
  const other = useResource(isOther ? `levels of ${against}` : null, (signal) => readLevels(against ?? '', signal));
  const reference = isOther ? other.data?.levels : (ownFigures.data?.benchmark_level ?? undefined);
  return (
    <>
      <div class="flow spread gap-2">
        <RangeBar start={run.start} end={run.end} />
        {ownFigures.data !== undefined && (
          <p class="part-subject quiet">
            Realised by the portfolio, {returnText(ownFigures.data.return_variant)}, after any costs
          </p>
        )}
        {children}
      </div>
      <Answered resource={ownFigures} what="the risk figures" skeleton={<FiguresSkeleton />}>
        {(view) => (
          <Metrics
            label={`Risk from ${view.start} to ${view.end}`}
            metrics={[...listMetrics(view), ...(against === null ? [] : relativeFigures(view, reference, against))]}
          />
        )}
      </Answered>
    </>
  );
}

/** Reads the levels of an index. Returns null if it has no run. */
async function readLevels(id: string, signal: AbortSignal): Promise<LevelsView | null> {
  try {
    return await service.value.call('getLevels', { params: { index_id: id }, signal });
  } catch (thrown) {
    if (createTrouble(thrown).code !== 'RUN_NOT_FOUND') throw thrown;
    return null;
  }
}

function listMetrics({ metrics, statistics, level, drawdowns: [deepest] }: PerformanceView): readonly LabelledFigure[] {
  const atRisk = computeValueAtRisk(computeReturns(level.data));
  return [
    { term: 'Volatility', value: formatPercent(metrics.volatility), note: 'annualised', help: 'Of daily returns' },
    {
      term: 'Value at risk 95%',
      value: formatPercent(atRisk),
      note: 'one day, historical',
      help: 'Loss that was exceeded on one session in twenty: positive for a loss',
    },
    {
      term: 'CVaR 95%',
      value: formatPercent(statistics.cvar_95),
      note: 'one day, historical',
      help: 'Conditional value at risk: mean loss of the worst twentieth of the sessions, positive for a loss',
    },
    {
      term: 'Max drawdown',
      value: formatPercent(metrics.max_drawdown),
      help: 'Against the highest level before: dates of that level and of the lowest level',
      ...(deepest !== undefined && { note: `${deepest.peak} to ${deepest.trough}` }),
    },
  ];
}

/**
 * Returns beta and tracking error on the dates that both series have. Returns nothing while the reference is loading.
 */
function relativeFigures(
  { level }: PerformanceView,
  reference: LevelsView['levels'] | undefined,
  against: string,
): readonly LabelledFigure[] {
  if (reference === undefined) return [];
  const levels = new Map(reference.index.map((date, t) => [date, reference.data[t] ?? null]));
  const { beta, trackingErrorAnnual } = compareWith(
    level.data,
    level.index.map((date) => levels.get(date) ?? null),
    countSessionsOfYear(level.index),
  );
  return [
    { term: `Beta to ${against}`, value: formatDecimal(beta), help: 'Of daily returns' },
    {
      term: `Realised tracking error to ${against}`,
      value: formatPercent(trackingErrorAnnual),
      note: 'annualised',
      help: 'Annualised standard deviation of the differences of daily returns',
    },
  ];
}

const WINDOWS = [
  { value: '63', text: '3M' },
  { value: '126', text: '6M' },
  { value: '252', text: '1Y' },
] as const;
const WINDOW_MONTHS = { 63: '3 months', 126: '6 months', 252: '12 months' } as const;
const MODELS = [
  { value: 'market_sector', text: 'Market and sectors' },
  { value: 'statistical', text: 'Statistical' },
  { value: 'styles', text: 'Styles' },
] as const;

/** Estimators of factor models. In the address, a stored model has the prefix `STORED_PREFIX`. */
const FACTOR_ESTIMATORS: ReadonlySet<string> = new Set(['statistical', 'industries', 'styles']);
const STORED_PREFIX = 'stored:';

/** Renders risk over time and its sources. All parts have the same reference index. */
export function Risk({ id, run }: { readonly id: string; readonly run: OverviewView }) {
  const window = WINDOWS.find(({ value }) => value === getParameter('window'))?.value ?? '126';
  const { isKnown, against, ...reference } = useReference(id);
  const rolling = useAnswer(
    'getRollingRisk',
    isKnown
      ? {
          params: { index_id: id },
          query: { ...readShownRun(), window: Number(window), ...(against === null ? {} : { benchmark: against }) },
        }
      : null,
    { keeps: true },
  );
  return (
    <div class="stack gap-4 index-part">
      <RiskFigures id={id} run={run} against={against}>
        <ReferenceSelect against={against} {...reference} />
      </RiskFigures>
      <Section
        title="Rolling risk"
        aside={
          <>
            <span class="inline-line gap-2 select">
              <span class="quiet" aria-hidden="true">
                Window
              </span>
              <Choice
                label="Window"
                options={WINDOWS}
                value={window}
                onChoose={(chosen) => setParameters({ window: chosen })}
              />
            </span>
            <ExportMenu id={id} table="risk" />
          </>
        }
      >
        <Answered resource={rolling} what="the rolling risk">
          {(view) => <Rolling view={view} months={WINDOW_MONTHS[window]} />}
        </Answered>
      </Section>
      <Contributions id={id} />
      {isKnown && <Factors id={id} reference={against} />}
    </div>
  );
}

interface Reference {
  /** False while the benchmark of the run is loading. */
  readonly isKnown: boolean;
  /** Selected reference index. Default: the benchmark of the run; null if there is none. */
  readonly against: string | null;
  /** Benchmark of the run, null if there is none. */
  readonly benchmark: string | null;
  /** Possible references. */
  readonly others: readonly string[];
}

function useReference(id: string): Reference {
  const indices = useList('indices');
  const performance = useAnswer('getPerformance', { params: { index_id: id }, query: readShownRun() });
  const benchmark = performance.data?.benchmark === id ? null : (performance.data?.benchmark ?? null);
  const storedIds = (indices.data?.indices ?? []).map(({ id: other }) => other).filter((other) => other !== id);
  return {
    isKnown: performance.data !== undefined || performance.trouble !== null,
    against: getParameter('against') ?? benchmark,
    benchmark,
    others: [...new Set([...(benchmark === null ? [] : [benchmark]), ...storedIds])],
  };
}

function ReferenceSelect({ against, benchmark, others }: Omit<Reference, 'isKnown'>) {
  if (others.length === 0) return null;
  return (
    <Select
      label="Relative to"
      isLabelShown
      options={[
        ...(benchmark === null ? [{ value: '', text: 'no index' }] : []),
        ...others.map((other) => ({ value: other, text: other })),
      ]}
      value={against ?? ''}
      onChoose={(other) => setParameters({ against: other === (benchmark ?? '') ? null : other })}
    />
  );
}

/** Describes the forecast: its date, the returns behind it, and the securities without an estimate. */
function describeForecast(risk: NonNullable<WeightsView['risk']>, asOf: string): string {
  const forecast = `Forecast volatility ${formatPercent(risk.volatility)}, annualised, with the weights of ${asOf}.`;
  const estimate = `Estimated from ${formatEstimation(risk)}`;
  if (risk.uncovered.length === 0) return `${forecast} ${estimate}.`;
  const covered = `for ${formatPercent(risk.covered_weight)} of the weight`;
  return `${forecast} ${estimate}, ${covered}, and scaled to the full weight; without an estimate: ${risk.uncovered.join(', ')}.`;
}

/** Renders the securities with the largest contributions to volatility. */
function Contributions({ id }: { readonly id: string }) {
  const storedModels = useModelsOfStore().map(({ model_id: model }) => model);
  const chosenModel = getParameter('risk_model');
  const query = { ...readShownRun(), risk: true, ...(chosenModel === null ? {} : { risk_model: chosenModel }) };
  const holdings = useAnswer('getWeights', { params: { index_id: id }, query }, { keeps: true });
  return (
    <Section
      title="Contributions to volatility"
      aside={
        <Select
          label="Estimated from"
          isLabelShown
          options={[
            { value: '', text: 'the returns of the run' },
            ...[...new Set([...storedModels, ...(chosenModel === null ? [] : [chosenModel])])].map((model) => ({
              value: model,
              text: `model ${model}`,
            })),
          ]}
          value={chosenModel ?? ''}
          onChoose={(model) => setParameters({ risk_model: model === '' ? null : model })}
        />
      }
    >
      <Answered resource={holdings} what="the risk contributions">
        {({ weights, risk, as_of: asOf }) =>
          risk !== null && (
            <>
              <p class="quiet">{keepWordsWhole(describeForecast(risk, asOf))}</p>
              <RiskBars weights={weights} risk={risk} asOf={asOf} />
            </>
          )
        }
      </Answered>
    </Section>
  );
}

function Rolling({ view, months }: { readonly view: RollingRiskView; readonly months: string }) {
  const { index, columns, data } = view.risk;
  const dates = useMemo(() => index.map(String), [view]);
  const createLine = (column: string, label: string, colour: number): readonly Line[] => {
    const position = columns.indexOf(column);
    return position < 0
      ? []
      : [{ id: column, label, colour, values: data.map((row) => row[position] as number | null) }];
  };
  const lines = useMemo(() => {
    const { benchmark_id: reference } = view;
    // Without a reference, the service would compare the run with the index that it follows. The difference would be
    // the costs.
    if (reference === null) return createLine('volatility', `Volatility, ${months}`, 1);
    return [
      ...createLine('volatility', `Volatility, ${months}`, 1),
      ...createLine('benchmark_volatility', `Volatility of ${reference}`, 2),
      ...createLine('tracking_error', `Realised tracking error to ${reference}`, 3),
    ];
  }, [view]);
  return (
    <Chart
      label="Rolling risk"
      dates={dates}
      lines={lines}
      height={240}
      hasZero
      range={findChosenRange()}
      onRange={chooseRange}
      unit={PERCENT_UNIT}
    />
  );
}

const RISKS = [
  { value: 'active', text: 'Active' },
  { value: 'total', text: 'Total' },
] as const;

interface FactorsProps {
  readonly id: string;
  /** Reference index of the active risk; null for the total risk. */
  readonly reference: string | null;
}

/** Renders the active risk relative to the reference index, or the total risk, split by factor. */
function Factors({ id, reference }: FactorsProps) {
  const against = getParameter('risk') === 'total' ? null : reference;
  const storedModels = useModelsOfStore();
  const models: readonly { readonly value: string; readonly text: string }[] = [
    ...MODELS,
    ...storedModels
      .filter(({ estimator }) => FACTOR_ESTIMATORS.has(estimator))
      .map(({ model_id: modelId }) => ({ value: `${STORED_PREFIX}${modelId}`, text: modelId })),
  ];
  const model = getParameter('model') ?? 'market_sector';
  const measure = model.startsWith(STORED_PREFIX)
    ? { risk_model: model.slice(STORED_PREFIX.length) }
    : { model: MODELS.find(({ value }) => value === model)?.value };
  const risk = useResource(
    `factors ${formatRunKey(id)} ${against} ${model}`,
    (signal): Promise<FactorDecomposition> => {
      const [params, query] = [{ index_id: id }, { ...readShownRun(), ...measure }];
      return against === null
        ? service.value.call('getTotalRisk', { params, query, signal })
        : service.value.call('getFactorRisk', { params, query: { ...query, benchmark: against }, signal });
    },
    { keeps: true },
  );
  return (
    <Section
      title={against === null ? 'Total risk by factor' : `Active risk against ${against} by factor`}
      aside={
        <>
          {reference !== null && (
            <Choice
              label="Risk"
              options={RISKS}
              value={against === null ? 'total' : 'active'}
              onChoose={(chosen) => setParameters({ risk: chosen === 'total' ? chosen : null })}
            />
          )}
          <Choice
            label="Model"
            options={models}
            value={model}
            onChoose={(chosen) => setParameters({ model: chosen })}
          />
        </>
      }
    >
      <Answered resource={risk} what="the risk by factor">
        {(view) => (
          <>
            {view.findings.length > 0 && <Findings findings={view.findings} shown={3} />}
            <Metrics
              label={'benchmark' in view ? `Active risk against ${view.benchmark}` : 'Total risk'}
              metrics={listFactorMetrics(view)}
            />
            <p class="quiet">
              {keepWordsWhole(`Forecast of the factor model. Estimated from ${formatEstimation(view)}.`)}
            </p>
            <FactorBars view={view} />
          </>
        )}
      </Answered>
    </Section>
  );
}

function listFactorMetrics(view: FactorDecomposition): readonly LabelledFigure[] {
  const { factor_share: factorShare } = view;
  const [active, term, risk] =
    'benchmark' in view
      ? ['active ', `Forecast tracking error to ${view.benchmark}`, view.tracking_error]
      : ['', 'Forecast volatility', view.volatility];
  return [
    { term, value: formatPercent(risk), note: `on ${view.as_of}` },
    { term: 'By factors', value: formatPercent(factorShare), note: `of the ${active}variance` },
    {
      term: 'Specific',
      value: formatPercent(1 - factorShare),
      note: `of the ${active}variance, beyond the factors`,
    },
    { term: 'Covered', value: formatPercent(view.covered_weight), note: `of the gross ${active}weight, by the model` },
  ];
}
