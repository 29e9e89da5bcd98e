import type { IndexDocument, OverviewView, PerformanceView } from '#clients/typescript/divisor.js';
import { useRef } from 'preact/hooks';
import { Chart } from '../../components/chart/chart.js';
import { PERCENT_UNIT } from '../../components/chart/series.js';
import { Choice } from '../../components/choice.js';
import { Metrics } from '../../components/metrics.js';
import { Section } from '../../components/page.js';
import { RangeBar } from '../../components/range-bar.js';
import { useWidth } from '../../components/use-width.js';
import { FiguresSkeleton } from '../../components/skeleton.js';
import { Answered } from '../../components/wait.js';
import { getParameter, setParameters } from '../../state/location.js';
import { chooseRange, findChosenRange } from '../../state/range.js';
import { useResource } from '../../state/resource.js';
import { service, createTrouble } from '../../state/service.js';
import { formatRunKey, readShownRun } from '../../state/shown-run.js';
import { countValues, formatDecimal, formatPercent, getSignClass } from '../../words/numbers.js';
import { returnText } from '../../words/returns.js';
import { DivisorChart } from './divisor-chart.js';
import { createFigures, formatDayReturn, formatRelation, formatSubject, type RiskControl } from './figures.js';
import { MoreFigures } from './more-figures.js';
import { getChosenVariant, LevelChart, type Variant } from './level-chart.js';
import { useRiskControl } from './risk-control.js';

interface PerformanceProps {
  readonly id: string;
  readonly run: OverviewView;
  /** Index that the run follows. For a strategy, this is the index of the strategy. */
  readonly tracked: string;
  /** Index below an overlay; null without an overlay. */
  readonly underlying: string | null;
  readonly overlay?: IndexDocument['overlay'];
}

const MEASURED_OPTIONS = [
  { value: 'index', text: 'Index', help: 'Without costs' },
  { value: 'portfolio', text: 'Portfolio', help: 'After the costs of the run' },
] as const;
type MeasuredSide = PerformanceView['of'];

/**
 * Renders the levels, the figures of a date range, and the returns by month and year. They are those of the index or of
 * the portfolio.
 */
export function Performance({ id, run, tracked, underlying, overlay }: PerformanceProps) {
  const range = findChosenRange();
  const usual = tracked === id ? 'index' : 'portfolio';
  const measuredVariant = MEASURED_OPTIONS.find(({ value }) => value === getParameter('of'))?.value ?? usual;
  const variant = getChosenVariant();
  const query = { ...readShownRun(), ...(range === null ? {} : { start: range.from, end: range.to }) };
  const performance = useResource(
    `performance ${formatRunKey(id)} ${range?.from} ${range?.to} ${measuredVariant} ${variant}`,
    (signal) => measure({ id, of: measuredVariant, variant, query, signal }),
    { keeps: true, isLater: true },
  );
  const control = useRiskControl({ id, stale: run.stale, overlay, date: performance.data?.end ?? null });
  const element = useRef<HTMLDivElement>(null);
  // In a narrow window the chart comes before the figures. Its line is then on the first screen.
  const isNarrow = useWidth(element) < NARROW;
  const figuresBar = (
    <>
      {performance.data !== undefined && (
        <p class="part-subject quiet">
          {formatSubject(performance.data, tracked) + formatConstituents(run)}
          <Instead view={performance.data} variant={variant} />
        </p>
      )}
      <Choice
        label="Figures of"
        options={MEASURED_OPTIONS}
        value={measuredVariant}
        onChoose={(chosen) => setParameters({ of: chosen === usual ? null : chosen })}
      />
    </>
  );
  const figures = (
    <Answered key="figures" resource={performance} what="the figures of the range" skeleton={<FiguresSkeleton />}>
      {(view) => (
        <Metrics
          label={`Figures from ${view.start} to ${view.end}`}
          metrics={createFigures(view, tracked, control).slice(isNarrow ? 1 : 0)}
        />
      )}
    </Answered>
  );
  const chart = performance.trouble === null && (
    <LevelChart key="chart" {...{ id, tracked, underlying, run, isNarrow }} performance={performance.data ?? null} />
  );
  return (
    <div class="index-part" ref={element}>
      <div class="part-bar">
        <RangeBar start={run.start} end={run.end} />
        {!isNarrow && figuresBar}
      </div>
      {isNarrow && <CurrentLevel view={performance.data} tracked={tracked} control={control} />}
      {isNarrow && chart}
      {isNarrow && <div class="part-bar">{figuresBar}</div>}
      {figures}
      {!isNarrow && chart}
      {performance.data !== undefined && performance.trouble === null && (
        <>
          <Drawdown view={performance.data} />
          {tracked === id && <DivisorChart id={id} />}
          <MoreFigures view={performance.data} run={run} />
        </>
      )}
    </div>
  );
}

/** States the number of constituents of an optimised index; an empty text for others. */
const formatConstituents = ({ parent, concentration }: OverviewView): string =>
  parent === undefined ? '' : `, ${countValues(concentration.constituents, 'constituent')}`;

interface CurrentLevelProps {
  readonly view: PerformanceView | undefined;
  /** Index that the run follows. */
  readonly tracked: string;
  readonly control: RiskControl | null;
}

/**
 * Renders the level at the end of the range and the return of that session. A second line has the state of a risk
 * control, or the tracking error to the reference. The first line keeps its height while loading.
 */
const CurrentLevel = ({ view, tracked, control }: CurrentLevelProps) => (
  <p class="index-now">
    {view !== undefined && (
      <>
        <strong>{formatDecimal(view.end_level)}</strong>{' '}
        <span class={getSignClass(view.day_return)}>{formatDayReturn(view)}</span>
        <span class="quiet">{control === null ? formatRelation(view, tracked) : formatControl(control, view)}</span>
      </>
    )}
  </p>
);

const formatControl = ({ exposure, target }: RiskControl, { metrics: { volatility } }: PerformanceView): string =>
  `Exposure ${formatPercent(exposure, 1)} · volatility ${formatPercent(volatility)}${target === null ? '' : `, target ${formatPercent(target)}`}`;

/** Minimum width in pixels at which the controls of the chart fit into one row. */
const NARROW = 980;

interface RequestedView {
  readonly id: string;
  readonly of: MeasuredSide;
  readonly variant: Variant;
  readonly query: { readonly start?: string; readonly end?: string };
  readonly signal: AbortSignal;
}

/**
 * Reads the performance in a return variant. If the run does not have it, reads the variant of the run. A portfolio has
 * only that variant.
 */
async function measure({ id, of, variant, query, signal }: RequestedView): Promise<PerformanceView> {
  const params = { index_id: id };
  const ask = (terms: { readonly variant?: Exclude<Variant, 'own'> }) =>
    service.value.call('getPerformance', { params, query: { ...query, of, ...terms }, signal });
  if (of === 'portfolio' || variant === 'own') return ask({});
  try {
    return await ask({ variant });
  } catch (thrown) {
    if (createTrouble(thrown).code !== 'VARIANT_NOT_AVAILABLE') throw thrown;
    return ask({});
  }
}

/** Renders a note if the figures are not in the chosen return variant. */
function Instead({ view, variant }: { readonly view: PerformanceView; readonly variant: Variant }) {
  if (variant === 'own' || variant === view.return_variant) return null;
  const why =
    view.of === 'portfolio'
      ? 'a portfolio has only the return variant of its run'
      : `this run has no ${returnText(variant)}`;
  return (
    <span class="quiet">
      . Figures and drawdown are not of the {returnText(variant)}: {why}.
    </span>
  );
}

function Drawdown({ view }: { readonly view: PerformanceView }) {
  return (
    <Section title="Drawdown" aside="against the peak within the range">
      <Chart
        label="Drawdown"
        dates={view.drawdown.index}
        lines={[{ id: 'drawdown', label: 'Drawdown', values: view.drawdown.data, colour: 7, isFilled: true }]}
        height={140}
        hasZero
        sync="index"
        range={null}
        onRange={(range) => chooseRange(range)}
        unit={PERCENT_UNIT}
      />
    </Section>
  );
}
