import type { LevelsView, OverviewView, PerformanceView } from '#clients/typescript/divisor.js';
import type { ComponentChildren } from 'preact';
import { Metrics, type Metric } from '../../components/metrics.js';
import { RangeBar } from '../../components/range-bar.js';
import { FiguresSkeleton } from '../../components/skeleton.js';
import { Answered } from '../../components/wait.js';
import { findChosenRange } from '../../state/range.js';
import { useResource } from '../../state/resource.js';
import { service, createTrouble } from '../../state/service.js';
import { formatRunKey, readShownRun } from '../../state/shown-run.js';
import { compareWith, computeReturns, countSessionsOfYear } from '../../words/compared.js';
import { formatDecimal, formatPercent } from '../../words/numbers.js';
import { returnText } from '../../words/returns.js';
import { computeValueAtRisk } from '../../words/tail.js';

interface RiskFiguresProps {
  readonly id: string;
  readonly run: OverviewView;
  /** Index relative to which beta and tracking error are computed; null for figures without a reference. */
  readonly against: string | null;
  /** Selector of the reference, in the row of the date range. */
  readonly children: ComponentChildren;
}

/** Renders a selector of the date range, and the realised risk of the portfolio in that range. */
export function RiskFigures({ id, run, against, children }: RiskFiguresProps) {
  const range = findChosenRange();
  const query = { ...readShownRun(), ...(range === null ? {} : { start: range.from, end: range.to }) };
  const ownFigures = useResource(
    range === null
      ? `performance ${formatRunKey(id)}`
      : `performance ${formatRunKey(id)} ${range.from} ${range.to} portfolio own`,
    (signal) => service.value.call('getPerformance', { params: { index_id: id }, query, signal }),
    { keeps: true },
  );
  const isOther = against !== null && ownFigures.data !== undefined && ownFigures.data.benchmark !== against;
  const other = useResource(isOther ? `levels of ${against}` : null, (signal) => readLevels(against ?? '', signal));
  const reference = isOther ? other.data?.levels : (ownFigures.data?.benchmark_level ?? undefined);
  return (
    <>
      <div class="part-bar">
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

function listMetrics({ metrics, statistics, level, drawdowns: [deepest] }: PerformanceView): readonly Metric[] {
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
): readonly Metric[] {
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
