import type { FrontierPayload } from '#clients/typescript/divisor.js';
import { useRef } from 'preact/hooks';
import { LinkButton } from '../../components/button.js';
import { Metrics } from '../../components/metrics.js';
import { Section } from '../../components/page.js';
import { useWidth } from '../../components/use-width.js';
import { formatAxisLabels, PERCENT_UNIT } from '../../components/chart/series.js';
import { getParameter, setParameters } from '../../state/location.js';
import { formatDecimal, formatFigure, formatPercent } from '../../words/numbers.js';
import { findChosenPoint, TANGENCY_POINT, type FrontierPoint } from './frontier-point.js';

/** Maximum width of the chart in pixels. Its text grows with the width. */
const WIDTH_MAX = 640;
const WIDTH_MIN = 280;
const HEIGHT = 300;
const LEFT_MARGIN = 56;
const BOTTOM_MARGIN = 34;

interface FrontierProps {
  readonly frontier: FrontierPayload;
  /** True if expected returns were chosen. */
  readonly hasReturns: boolean;
  /**
   * Returns the address of an optimisation that gives the same weights as a point. Returns null if the address is not
   * known.
   */
  formatAddress(point: FrontierPoint): string | null;
}

/**
 * Renders the portfolios that have the highest expected return for their risk under the constraints. A selected point
 * shows its figures.
 */
export function Frontier({ frontier, hasReturns, formatAddress }: FrontierProps) {
  const { points, tangency, portfolio, index } = frontier;
  const chosenPoint = findChosenPoint(frontier, getParameter('point'));
  const frame = useRef<HTMLDivElement>(null);
  const width = Math.max(WIDTH_MIN, Math.min(WIDTH_MAX, useWidth(frame)));
  const marks = createMarks(portfolio, index);
  const all = [...points, ...marks, ...(tangency === null ? [] : [tangency])];
  const x = scaleOf(
    all.map(({ volatility }) => volatility),
    LEFT_MARGIN,
    width - 12,
  );
  const y = scaleOf(
    all.map(({ expected_return: value }) => value),
    HEIGHT - BOTTOM_MARGIN,
    12,
  );
  if (chosenPoint === undefined) return null;
  return (
    <Section title="Efficient frontier" aside="within the constraints, annualised">
      <p class="quiet">
        {hasReturns
          ? 'Expected returns come from the selected model.'
          : 'No model of expected returns was selected. The mean returns of the risk window are used.'}
      </p>
      <div class="frontier" data-part="Efficient frontier" ref={frame}>
        <svg
          viewBox={`0 0 ${width} ${HEIGHT}`}
          role="group"
          aria-label="Efficient frontier: expected return over volatility"
        >
          <Axes x={x} y={y} width={width} />
          <polyline points={points.map((one) => `${x.at(one.volatility)},${y.at(one.expected_return)}`).join(' ')} />
          {points.map((one, i) => (
            <Dot
              key={one.expected_return}
              x={x.at(one.volatility)}
              y={y.at(one.expected_return)}
              label={`Point ${i + 1}: ${formatPosition(one)}`}
              isChosen={one === chosenPoint.point}
              onChoose={() => setParameters({ point: i === 0 ? null : String(i + 1) })}
            />
          ))}
          {tangency !== null && (
            <Dot
              kind="is-tangency"
              x={x.at(tangency.volatility)}
              y={y.at(tangency.expected_return)}
              label={`Tangency portfolio, the highest Sharpe ratio: ${formatPosition(tangency)}`}
              isChosen={tangency === chosenPoint.point}
              onChoose={() => setParameters({ point: TANGENCY_POINT })}
            />
          )}
          {marks.map((mark) => (
            <FrontierMark
              key={mark.label}
              mark={mark}
              x={x.at(mark.volatility)}
              y={y.at(mark.expected_return)}
              isAtEnd={mark.kind === 'is-index' || x.at(mark.volatility) > width - 130}
            />
          ))}
        </svg>
        <div class="frontier-figures">
          <PointFigures label={chosenPoint.label} point={chosenPoint.point} />
          <Take point={chosenPoint.point} address={formatAddress(chosenPoint.point)} />
          {tangency !== null && chosenPoint.point !== tangency && (
            <PointFigures label="Tangency" point={tangency} sharpe={tangency.sharpe} />
          )}
        </div>
      </div>
    </Section>
  );
}

const formatPosition = ({ volatility, expected_return: expected }: PointPosition): string =>
  `volatility ${formatPercent(volatility)}, expected return ${formatPercent(expected)}`;

type PointPosition = Pick<FrontierPoint, 'volatility' | 'expected_return'>;

/** Portfolio in the chart that is not a point of the frontier. */
interface Mark extends PointPosition {
  readonly label: string;
  readonly kind: string;
}

/** Returns the marks of the run and of its index. If their weights are equal, they share one mark. */
function createMarks(run: FrontierPayload['portfolio'], index: FrontierPayload['index']): readonly Mark[] {
  if (run === undefined || index === undefined) return [];
  if (run.tracking_error < SAME_TRACKING_ERROR)
    return [{ label: 'This run, identical to the index', kind: 'is-run', ...run }];
  return [
    { label: 'This run', kind: 'is-run', ...run },
    { label: 'The index', kind: 'is-index', ...index },
  ];
}

/** Maximum tracking error at which two portfolios count as equal. */
const SAME_TRACKING_ERROR = 1e-6;

interface DotProps {
  readonly x: number;
  readonly y: number;
  readonly label: string;
  readonly kind?: string;
  readonly isChosen: boolean;
  onChoose(): void;
}

/** Renders a selectable point of the frontier. */
function Dot({ x, y, label, kind = '', isChosen, onChoose }: DotProps) {
  return (
    <circle
      cx={x}
      cy={y}
      r={isChosen ? 7 : 5}
      class={isChosen ? `${kind} is-chosen` : kind}
      role="button"
      tabindex={0}
      aria-pressed={isChosen}
      aria-label={label}
      onClick={onChoose}
      onKeyDown={(event) => (event.key === 'Enter' || event.key === ' ') && onChoose()}
    />
  );
}

interface MarkProps {
  readonly mark: Mark;
  readonly x: number;
  readonly y: number;
  /** True if the label does not fit to the right of the mark. */
  readonly isAtEnd: boolean;
}

function FrontierMark({ mark, x, y, isAtEnd }: MarkProps) {
  return (
    <g class={`frontier-mark ${mark.kind}`} role="img" aria-label={`${mark.label}: ${formatPosition(mark)}`}>
      <path d={`M${x - 6} ${y}L${x} ${y - 6}L${x + 6} ${y}L${x} ${y + 6}Z`} />
      <text x={isAtEnd ? x - 10 : x + 10} y={y + 4} text-anchor={isAtEnd ? 'end' : 'start'}>
        {mark.label}
      </text>
    </g>
  );
}

/** Renders a link to an optimisation that gives the selected point. An index can be derived from that optimisation. */
function Take({ point, address }: { readonly point: FrontierPoint; readonly address: string | null }) {
  if (address === null) return null;
  return (
    <>
      <LinkButton href={address}>Optimise for this point</LinkButton>
      <p class="quiet">
        {point.risk_aversion == null
          ? 'Minimum variance within the constraints'
          : `Maximum utility at a risk aversion of ${formatFigure(point.risk_aversion)}`}
        . Run it from there, or derive an index that repeats this optimisation at each rebalance with the risk known at
        that time.
      </p>
    </>
  );
}

interface PointFiguresProps {
  readonly label: string;
  readonly point: FrontierPoint;
  readonly sharpe?: number;
}

function PointFigures({ label, point, sharpe }: PointFiguresProps) {
  return (
    <>
      <h3>{label}</h3>
      <Metrics
        label={label}
        metrics={[
          { term: 'Expected return', value: formatPercent(point.expected_return) },
          { term: 'Volatility', value: formatPercent(point.volatility) },
          { term: 'Forecast tracking error', value: formatPercent(point.tracking_error) },
          ...(sharpe === undefined ? [] : [{ term: 'Sharpe ratio', value: formatDecimal(sharpe) }]),
        ]}
      />
    </>
  );
}

interface Scale {
  at(value: number): number;
  readonly ticks: readonly number[];
}

const TICK_COUNT = 5;

/** Returns a linear scale with round ticks. It covers the values and a margin. */
function scaleOf(values: readonly number[], from: number, to: number): Scale {
  const least = Math.min(...values);
  const largest = Math.max(...values);
  const margin = (largest - least || Math.abs(largest) || 1) * 0.08;
  const low = least - margin;
  const span = largest - least + 2 * margin;
  const rough = span / TICK_COUNT;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough) ?? rough;
  const first = Math.ceil(low / step) * step;
  const ticks = Array.from({ length: Math.floor((low + span - first) / step) + 1 }, (_, k) => first + k * step);
  return { at: (value) => from + ((value - low) / span) * (to - from), ticks };
}

interface AxesProps {
  readonly x: Scale;
  readonly y: Scale;
  readonly width: number;
}

function Axes({ x, y, width }: AxesProps) {
  const xs = formatAxisLabels(x.ticks, PERCENT_UNIT);
  const ys = formatAxisLabels(y.ticks, PERCENT_UNIT);
  return (
    <g class="frontier-axes" aria-hidden="true">
      {y.ticks.map((value, i) => (
        <g key={value}>
          <line x1={LEFT_MARGIN} x2={width - 12} y1={y.at(value)} y2={y.at(value)} />
          <text x={LEFT_MARGIN - 8} y={y.at(value) + 4} text-anchor="end">
            {ys[i]}
          </text>
        </g>
      ))}
      {x.ticks.map((value, i) => (
        <text key={value} x={x.at(value)} y={HEIGHT - BOTTOM_MARGIN + 16} text-anchor="middle">
          {xs[i]}
        </text>
      ))}
      <text x={width - 12} y={HEIGHT - 4} text-anchor="end">
        Volatility, annualised
      </text>
      <text x={LEFT_MARGIN} y={10}>
        Expected return, annualised
      </text>
    </g>
  );
}
