import type { OverviewView, RollingRiskView, WeightsView } from '#clients/typescript/divisor.js';
import { useMemo } from 'preact/hooks';
import { Chart } from '../../components/chart/chart.js';
import { PERCENT_UNIT, type Line } from '../../components/chart/series.js';
import { Choice, Select } from '../../components/choice.js';
import { Findings } from '../../components/findings.js';
import { ExportMenu } from '../../components/export-menu.js';
import { keepWordsWhole, Metrics, type Metric } from '../../components/metrics.js';
import { Section } from '../../components/page.js';
import { Answered } from '../../components/wait.js';
import { getParameter, setParameters } from '../../state/location.js';
import { chooseRange, findChosenRange } from '../../state/range.js';
import { useResource } from '../../state/resource.js';
import { useModelsOfStore } from '../../state/risk-models.js';
import { service } from '../../state/service.js';
import { formatRunKey, readShownRun } from '../../state/shown-run.js';
import { formatPercent } from '../../words/numbers.js';
import { formatEstimation } from '../../words/risk-window.js';
import { FactorBars, type FactorDecomposition } from './factor-bars.js';
import { RiskBars } from './risk-bars.js';
import { RiskFigures } from './risk-figures.js';

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
  const rolling = useResource(
    isKnown ? `rolling ${formatRunKey(id)} ${window} ${against}` : null,
    (signal) =>
      service.value.call('getRollingRisk', {
        params: { index_id: id },
        query: { ...readShownRun(), window: Number(window), ...(against === null ? {} : { benchmark: against }) },
        signal,
      }),
    { keeps: true },
  );
  return (
    <div class="index-part">
      <RiskFigures id={id} run={run} against={against}>
        <ReferenceSelect against={against} {...reference} />
      </RiskFigures>
      <Section
        title="Rolling risk"
        aside={
          <>
            <span class="select">
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
  const indices = useResource('indices', (signal) => service.value.call('listIndices', { signal }));
  const performance = useResource(`performance ${formatRunKey(id)}`, (signal) =>
    service.value.call('getPerformance', { params: { index_id: id }, query: readShownRun(), signal }),
  );
  const benchmark = performance.data?.benchmark === id ? null : (performance.data?.benchmark ?? null);
  const storedIds = (indices.data?.indices ?? []).map(({ id: other }) => other).filter((other) => other !== id);
  return {
    isKnown: performance.data !== undefined || performance.trouble !== null,
    against: getParameter('against') ?? benchmark,
    benchmark,
    others: [...new Set([...(benchmark === null ? [] : [benchmark]), ...storedIds])],
  };
}

/** Renders the selector of the reference index of all sections. */
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
  const holdings = useResource(
    `weights risk ${formatRunKey(id)} ${chosenModel}`,
    (signal) => service.value.call('getWeights', { params: { index_id: id }, query, signal }),
    { keeps: true },
  );
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

function listFactorMetrics(view: FactorDecomposition): readonly Metric[] {
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
