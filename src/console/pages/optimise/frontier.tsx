import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import type { FrontierPayload, OptimisationRunResult } from '#clients/typescript/divisor.js';
import { formatAxisLabels, PERCENT_UNIT } from '../../components/chart/series.js';
import { LinkButton } from '../../components/controls/button.js';
import { Metrics } from '../../components/layout/facts.js';
import { Section, useWidth } from '../../components/layout/page.js';
import { addQuery, getParameter, setParameters } from '../../state/location.js';
import { formatCount, formatDecimal, formatFigure, formatPercent } from '../../words/numbers.js';
import {
  type ChosenPoint,
  computePointTurnover,
  findChosenPoint,
  type FrontierPoint,
  TANGENCY_POINT,
} from './frontier-point.js';

/** Maximum width of the chart in pixels. Its text grows with the width. */
const WIDTH_MAX = 640;
const WIDTH_MIN = 280;
const LEFT_MARGIN = 56;
const BOTTOM_MARGIN = 34;

interface FrontierChartProps {
  readonly frontier: FrontierPayload;
  readonly chosen: ChosenPoint;
  /** Height in pixels. */
  readonly height: number;
  /** True for a picture whose points cannot be selected. */
  readonly isStatic?: boolean;
}

/** Draws the efficient frontier with the run, its index and the tangency portfolio. Each point can be selected. */
function FrontierChart({ frontier, chosen, height, isStatic = false }: FrontierChartProps) {
  const { points, tangency, portfolio, index } = frontier;
  const frame = useRef<HTMLDivElement>(null);
  const width = Math.max(WIDTH_MIN, Math.min(WIDTH_MAX, useWidth(frame)));
  const marks = createMarks(portfolio, index);
  const all = [...points, ...marks, ...(tangency === null ? [] : [tangency])];
  const x = scaleOf(
    all.map(({ volatility }) => volatility),
    { from: LEFT_MARGIN, to: width - 12, tickCount: TICK_COUNT },
  );
  const y = scaleOf(
    all.map(({ expected_return: value }) => value),
    { from: height - BOTTOM_MARGIN, to: 12, tickCount: height < LOW_HEIGHT ? LOW_TICK_COUNT : TICK_COUNT },
  );
  return (
    <div ref={frame}>
      <svg
        viewBox={`0 0 ${width} ${height}`}
        role={isStatic ? 'img' : 'group'}
        aria-label={
          isStatic ? `${chosen.label} on the frontier` : 'Efficient frontier: expected return over volatility'
        }
      >
        <Axes x={x} y={y} width={width} height={height} />
        <polyline points={points.map((one) => `${x.at(one.volatility)},${y.at(one.expected_return)}`).join(' ')} />
        {points.map((one, i) => (
          <Dot
            key={one.expected_return}
            x={x.at(one.volatility)}
            y={y.at(one.expected_return)}
            label={`Point ${i + 1}: ${formatPosition(one)}`}
            isChosen={one === chosen.point}
            onChoose={isStatic ? undefined : () => setParameters({ point: i === 0 ? null : String(i + 1) })}
          />
        ))}
        {isStatic && (
          <PointLabel
            x={x.at(chosen.point.volatility)}
            y={y.at(chosen.point.expected_return)}
            width={width}
            text={chosen.number === null ? chosen.label : `Point ${chosen.number}`}
          />
        )}
        {tangency !== null && !(isStatic && tangency === chosen.point) && (
          <PointLabel x={x.at(tangency.volatility)} y={y.at(tangency.expected_return)} width={width} text="Tangency" />
        )}
        {tangency !== null && (
          <Dot
            kind="is-tangency"
            x={x.at(tangency.volatility)}
            y={y.at(tangency.expected_return)}
            label={`Tangency portfolio, the highest Sharpe ratio: ${formatPosition(tangency)}`}
            isChosen={tangency === chosen.point}
            onChoose={isStatic ? undefined : () => setParameters({ point: TANGENCY_POINT })}
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
    </div>
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
  /** Selects the point. If it is undefined, the point cannot be selected. */
  readonly onChoose: (() => void) | undefined;
}

interface PointLabelProps extends Pick<DotProps, 'x' | 'y'> {
  readonly text: string;
  /** Width of the chart in pixels. */
  readonly width: number;
}

/** Width in pixels that is reserved for the name of a point. */
const LABEL_WIDTH = 70;

/** Renders the name of a point below it, to the right, or to the left at the end of the chart. */
const PointLabel = ({ x, y, text, width }: PointLabelProps) => {
  const isAtEnd = x > width - LABEL_WIDTH;
  return (
    <text x={isAtEnd ? x - 6 : x + 6} y={y + 18} text-anchor={isAtEnd ? 'end' : 'start'} class="point-label">
      {text}
    </text>
  );
};

/** Renders a selectable point of the frontier. */
function Dot({ x, y, label, kind = '', isChosen, onChoose }: DotProps) {
  const shape = { cx: x, cy: y, r: isChosen ? 7 : 5, class: isChosen ? `${kind} is-chosen` : kind };
  if (onChoose === undefined) return <circle {...shape} r={isChosen ? 6 : 3} style={{ cursor: 'default' }} />;
  return (
    <circle
      {...shape}
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
      <text x={isAtEnd ? x - 10 : x + 10} y={isAtEnd ? y + 4 : y + 14} text-anchor={isAtEnd ? 'end' : 'start'}>
        {mark.label}
      </text>
    </g>
  );
}

interface Scale {
  at(value: number): number;
  readonly ticks: readonly number[];
}

const TICK_COUNT = 5;

/** Height in pixels below which the ordinate has fewer ticks. */
const LOW_HEIGHT = 200;
const LOW_TICK_COUNT = 3;

interface ScaleRange {
  readonly from: number;
  readonly to: number;
  readonly tickCount: number;
}

/** Returns a linear scale with round ticks. It covers the values and a margin. */
function scaleOf(values: readonly number[], { from, to, tickCount }: ScaleRange): Scale {
  const least = Math.min(...values);
  const most = Math.max(...values);
  const margin = (most - least || Math.abs(most) || 1) * 0.08;
  const low = least - margin;
  const span = most - least + 2 * margin;
  const rough = span / tickCount;
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
  readonly height: number;
}

function Axes({ x, y, width, height }: AxesProps) {
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
        <text key={value} x={x.at(value)} y={height - BOTTOM_MARGIN + 16} text-anchor="middle">
          {xs[i]}
        </text>
      ))}
      <text x={width - 12} y={height - 4} text-anchor="end">
        Volatility, annualised
      </text>
      <text x={LEFT_MARGIN} y={10}>
        Expected return, annualised
      </text>
    </g>
  );
}

interface FrontierProps {
  readonly frontier: FrontierPayload;
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
  const { tangency, portfolio } = frontier;
  const chosen = findChosenPoint(frontier, getParameter('point'));
  if (chosen === undefined) return null;
  return (
    <Section title="Efficient frontier" aside="within the constraints, annualised">
      <p class="quiet">
        {hasReturns
          ? 'Expected returns come from the selected model.'
          : 'No model of expected returns was selected. The mean returns of the risk window are used.'}
      </p>
      <div class="pile gap-5 frontier" data-part="Efficient frontier">
        <FrontierChart frontier={frontier} chosen={chosen} height={300} />
        <div class="pile gap-2">
          {portfolio !== undefined && <PointFigures label="This run" point={portfolio} />}
          <PointFigures label={chosen.label} point={chosen.point} />
          <Take point={chosen.point} address={formatAddress(chosen.point)} />
          {tangency !== null && chosen.point !== tangency && (
            <PointFigures label="Tangency" point={tangency} sharpe={tangency.sharpe} />
          )}
        </div>
      </div>
    </Section>
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
        . Optimise for this point, or derive an index that repeats this optimisation at each rebalance with the risk
        known at that time.
      </p>
    </>
  );
}

interface PointFiguresProps {
  readonly label: string;
  readonly point: Pick<FrontierPoint, 'expected_return' | 'volatility' | 'tracking_error'>;
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

interface PointSummaryProps {
  readonly chosen: ChosenPoint;
  readonly run: OptimisationRunResult;
  /** Address of the optimisation that gives the point; null if the run did not store risk aversions. */
  readonly optimiseAddress: string | null;
  /** Findings of the run, below the figures. */
  readonly children: ComponentChildren;
}

/** Renders the figures of the selected frontier point, each with the figure of the solution, and links to its neighbours. */
export function PointSummary({ chosen, run, optimiseAddress, children }: PointSummaryProps) {
  const { label, number, point } = chosen;
  const { frontier } = run;
  const createFigure = (term: string, member: 'expected_return' | 'volatility' | 'tracking_error') => {
    const solution = frontier?.portfolio?.[member];
    return {
      term,
      value: formatPercent(point[member]),
      ...(solution === undefined ? {} : { note: `solution ${formatPercent(solution)}` }),
    };
  };
  const { weights } = point;
  const turnover = computePointTurnover(point, run.weights);
  return (
    <Section
      title={`${label} of the frontier`}
      aside={
        <>
          {number !== null && number > 1 && <a href={addQuery({ point: String(number - 1) })}>← Point {number - 1}</a>}
          {number !== null && number < (frontier?.points.length ?? 0) && (
            <a href={addQuery({ point: String(number + 1) })}>Point {number + 1} →</a>
          )}
          {optimiseAddress !== null && <a href={optimiseAddress}>Optimise for this point</a>}
          <a href={addQuery({ point: null })}>Back to the solution</a>
        </>
      }
    >
      <div class="pile gap-5 frontier">
        <div class="pile gap-3">
          <Metrics
            label={`${label} of the frontier`}
            metrics={[
              createFigure('Expected return', 'expected_return'),
              createFigure('Volatility', 'volatility'),
              createFigure('Forecast tracking error', 'tracking_error'),
              ...(turnover === null
                ? []
                : [
                    {
                      term: 'Turnover',
                      value: formatPercent(turnover),
                      note: `solution ${formatPercent(run.turnover)}`,
                      help: 'One-way, against the index weights',
                    },
                  ]),
              ...(weights === undefined
                ? []
                : [
                    {
                      term: 'Holdings',
                      value: formatCount(Object.keys(weights).length),
                      note: `solution ${formatCount(run.holdings)}`,
                    },
                  ]),
            ]}
          />
          {children}
        </div>
        {frontier !== null && <FrontierChart frontier={frontier} chosen={chosen} height={150} isStatic />}
      </div>
    </Section>
  );
}
