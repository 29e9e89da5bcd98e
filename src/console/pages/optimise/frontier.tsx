import type { FrontierPayload } from '#clients/typescript/divisor.js';
import { useRef } from 'preact/hooks';
import { Metrics } from '../../components/metrics.js';
import { Section } from '../../components/page.js';
import { useWidth } from '../../components/use-width.js';
import { axisTexts, PERCENT } from '../../components/chart/series.js';
import { parameter, setParameters } from '../../state/place.js';
import { decimal, percent } from '../../words/numbers.js';

type Point = FrontierPayload['points'][number];

/** Beyond it the frontier does not grow with its place: its letters would. */
const WIDTH_MAX = 640;
const WIDTH_MIN = 280;
const HEIGHT = 300;
const LEFT = 56;
const BELOW = 34;

interface FrontierProps {
  readonly frontier: FrontierPayload;
  /** Whether expected returns were chosen. */
  readonly hasReturns: boolean;
}

/** Portfolios of most return for their risk within the constraints; a click on one tells its figures. */
export function Frontier({ frontier: { points, tangency }, hasReturns }: FrontierProps) {
  const chosen = Math.max(0, Number(parameter('point') ?? 1) - 1);
  const place = useRef<HTMLDivElement>(null);
  const width = Math.max(WIDTH_MIN, Math.min(WIDTH_MAX, useWidth(place)));
  const setChosen = (at: number) => setParameters({ point: at === 0 ? null : String(at + 1) });
  const all = tangency === null ? points : [...points, tangency];
  const x = scaleOf(
    all.map(({ volatility }) => volatility),
    LEFT,
    width - 12,
  );
  const y = scaleOf(
    all.map(({ expected_return: value }) => value),
    HEIGHT - BELOW,
    12,
  );
  const point = points[chosen];
  if (point === undefined) return null;
  return (
    <Section title="Efficient frontier" aside="within the constraints, annualised">
      <p class="quiet">
        {hasReturns
          ? 'Expected returns by the model that was chosen.'
          : 'No expected returns were chosen: the mean returns of the window of risk stand in for them.'}
      </p>
      <div class="frontier" ref={place}>
        <svg
          viewBox={`0 0 ${width} ${HEIGHT}`}
          role="group"
          aria-label="Efficient frontier: expected return over volatility"
        >
          <Axes x={x} y={y} width={width} />
          <polyline points={points.map((one) => `${x.at(one.volatility)},${y.at(one.expected_return)}`).join(' ')} />
          {points.map((one, i) => (
            <circle
              key={one.expected_return}
              cx={x.at(one.volatility)}
              cy={y.at(one.expected_return)}
              r={i === chosen ? 7 : 5}
              class={i === chosen ? 'is-chosen' : ''}
              role="button"
              tabindex={0}
              aria-pressed={i === chosen}
              aria-label={`Point ${i + 1}: volatility ${percent(one.volatility)}, expected return ${percent(one.expected_return)}`}
              onClick={() => setChosen(i)}
              onKeyDown={(event) => (event.key === 'Enter' || event.key === ' ') && setChosen(i)}
            />
          ))}
          {tangency !== null && (
            <rect x={x.at(tangency.volatility) - 5} y={y.at(tangency.expected_return) - 5} width={10} height={10}>
              <title>Tangency: the largest Sharpe ratio</title>
            </rect>
          )}
        </svg>
        <div class="frontier-figures">
          <PointFigures label={`Point ${chosen + 1} of ${points.length}`} point={point} />
          {tangency !== null && <PointFigures label="Tangency" point={tangency} sharpe={tangency.sharpe} />}
        </div>
      </div>
    </Section>
  );
}

interface PointFiguresProps {
  readonly label: string;
  readonly point: Point;
  readonly sharpe?: number;
}

function PointFigures({ label, point, sharpe }: PointFiguresProps) {
  return (
    <>
      <h3>{label}</h3>
      <Metrics
        label={label}
        metrics={[
          { term: 'Expected return', value: percent(point.expected_return) },
          { term: 'Volatility', value: percent(point.volatility) },
          { term: 'Tracking error', value: percent(point.tracking_error) },
          ...(sharpe === undefined ? [] : [{ term: 'Sharpe ratio', value: decimal(sharpe) }]),
        ]}
      />
    </>
  );
}

interface Scale {
  at(value: number): number;
  readonly ticks: readonly number[];
}

const TICKS = 5;

/** A scale with round ticks over the values and some room. */
function scaleOf(values: readonly number[], from: number, to: number): Scale {
  const least = Math.min(...values);
  const most = Math.max(...values);
  const room = (most - least || Math.abs(most) || 1) * 0.08;
  const low = least - room;
  const span = most - least + 2 * room;
  const rough = span / TICKS;
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
  const xs = axisTexts(x.ticks, PERCENT);
  const ys = axisTexts(y.ticks, PERCENT);
  return (
    <g class="frontier-axes" aria-hidden="true">
      {y.ticks.map((value, i) => (
        <g key={value}>
          <line x1={LEFT} x2={width - 12} y1={y.at(value)} y2={y.at(value)} />
          <text x={LEFT - 8} y={y.at(value) + 4} text-anchor="end">
            {ys[i]}
          </text>
        </g>
      ))}
      {x.ticks.map((value, i) => (
        <text key={value} x={x.at(value)} y={HEIGHT - BELOW + 16} text-anchor="middle">
          {xs[i]}
        </text>
      ))}
      <text x={width - 12} y={HEIGHT - 4} text-anchor="end">
        volatility
      </text>
      <text x={LEFT} y={10}>
        expected return
      </text>
    </g>
  );
}
