import './correlation-map.css';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { RiskModelView } from '#clients/typescript/divisor.js';
import { Section, useWidth } from '../../components/layout/page.js';
import { shade } from '../../state/appearance.js';
import { setParameters } from '../../state/location.js';
import { formatDecimal } from '../../words/numbers.js';

interface CorrelationMapProps {
  readonly view: RiskModelView;
  /** Security whose row and column are highlighted. */
  readonly chosen: string | undefined;
  /** Control next to the heading. Default: an explanation. */
  readonly choice?: ComponentChildren;
}

/**
 * Renders all correlations as a map of colours. Similar securities are next to each other. A click selects a security.
 */
export function CorrelationMap({ view: { asset_ids: names, correlation }, chosen, choice }: CorrelationMapProps) {
  const matrix = correlation?.data as readonly (readonly number[])[] | undefined; // the matrix contains only numbers
  const order = useMemo(() => (matrix === undefined ? [] : computeOrder(matrix)), [matrix]);
  const range = useMemo(() => (matrix === undefined ? NO_RANGE : createRange(matrix)), [matrix]);
  const [at, setAt] = useState<readonly [number, number] | null>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const cells = useRef<HTMLDivElement>(null);
  const width = useWidth(cells);
  const swatches = useRef<HTMLParagraphElement>(null);
  const theme = shade.value;
  useLayoutEffect(() => {
    if (matrix !== undefined) paint(canvas.current!, swatches.current!, { matrix, order, strongest: range.limit });
  }, [matrix, order, range, theme]);
  if (matrix === undefined || names.length < 2) return null;
  const findCell = (event: MouseEvent): readonly [number, number] => {
    const { left, top, width, height } = canvas.current!.getBoundingClientRect(); // the canvas exists before any mouse event
    const computeCell = (offset: number, size: number) =>
      order[Math.max(0, Math.min(names.length - 1, Math.floor((offset / size) * names.length)))]!;
    return [computeCell(event.clientY - top, height), computeCell(event.clientX - left, width)];
  };
  const framedPosition = chosen === undefined ? -1 : order.indexOf(names.indexOf(chosen));
  const share = 100 / names.length;
  // If rows are lower than a line of text, only some names are drawn. The name of the framed row is always drawn.
  const interval = Math.max(1, Math.ceil((LINE_HEIGHT * names.length) / width));
  const isNamed = (row: number) =>
    row === framedPosition || (row % interval === 0 && Math.abs(row - framedPosition) >= interval);
  return (
    <Section title="Correlations" aside={choice ?? 'similar securities next to each other'}>
      <div class="gap-2 correlation-map">
        {names.length <= NAMED_MAX && (
          <ol class="second one-line bare-list correlation-names" aria-hidden="true">
            {order.map((at, row) => (
              <li key={at} class={row === framedPosition ? 'is-framed' : undefined}>
                {isNamed(row) && names[at]}
              </li>
            ))}
          </ol>
        )}
        <div class="correlation-cells" ref={cells}>
          <canvas
            ref={canvas}
            width={names.length}
            height={names.length}
            role="img"
            aria-label={`Correlations of ${names.length} securities, from ${formatDecimal(range.least)} to ${formatDecimal(range.most)}`}
            onPointerMove={(event) => setAt(findCell(event))}
            onPointerLeave={() => setAt(null)}
            onClick={(event) => setParameters({ name: names[findCell(event)[0]]! })}
          />
          {framedPosition >= 0 && (
            <span class="correlation-frame" style={{ top: `${framedPosition * share}%`, height: `${share}%` }} />
          )}
        </div>
      </div>
      <p class="flow gap-2 correlation-legend" ref={swatches}>
        <span class="number">{range.least < 0 ? formatDecimal(-range.limit, 1) : '0'}</span>
        <span class={`correlation-scale${range.least < 0 ? '' : ' is-positive'}`} />
        <span class="number">{formatDecimal(range.limit, 1)}</span>
        <span class="quiet">
          {at === null
            ? `From ${formatDecimal(range.least)} to ${formatDecimal(range.most)} between two securities. Columns in the order of the rows; a row opens its security.`
            : `${names[at[0]]} and ${names[at[1]]}: ${formatDecimal(matrix[at[0]]![at[1]]!)}`}
        </span>
      </p>
    </Section>
  );
}

/** Maximum number of securities whose names fit next to the rows. */
const NAMED_MAX = 48;

/** Height of a line of names, in pixels. */
const LINE_HEIGHT = 12;

interface PaintedMap {
  readonly matrix: readonly (readonly number[])[];
  readonly order: readonly number[];
  readonly strongest: number;
}

/**
 * Draws one pixel per pair of securities. The colour shows the sign of the correlation; its strength shows the size.
 */
function paint(canvas: HTMLCanvasElement, coloured: Element, { matrix, order, strongest }: PaintedMap): void {
  const context = canvas.getContext('2d');
  if (context === null) return;
  const size = order.length;
  const image = context.createImageData(size, size);
  const { color, backgroundColor } = getComputedStyle(coloured.querySelector('.correlation-scale')!); // the scale is rendered with the map
  const [above, below] = [parseChannels(color), parseChannels(backgroundColor)];
  order.forEach((row, y) =>
    order.forEach((column, x) => {
      const value = matrix[row]![column]!; // the matrix is square
      const [red, green, blue] = value >= 0 ? above : below;
      const strength = row === column ? 1 : Math.abs(value) / (strongest || 1);
      image.data.set([red, green, blue, 255 * Math.min(1, strength)], 4 * (y * size + x));
    }),
  );
  context.putImageData(image, 0, 0);
}

function parseChannels(color: string): readonly [number, number, number] {
  const [red = 0, green = 0, blue = 0] = (color.match(/[\d.]+/g) ?? []).map(Number);
  return [red, green, blue];
}

interface CorrelationRange {
  readonly least: number;
  readonly most: number;
  /** Correlation at which the colour is strongest: the largest absolute value, rounded up to a tenth. */
  readonly limit: number;
}

const NO_RANGE: CorrelationRange = { least: 0, most: 0, limit: 1 };

/** Returns the range of the correlations of two securities. */
function createRange(matrix: readonly (readonly number[])[]): CorrelationRange {
  const pairs = matrix.flatMap((row, i) => row.filter((_, j) => j < i));
  const least = pairs.reduce((found, value) => Math.min(found, value), Infinity);
  const largest = pairs.reduce((found, value) => Math.max(found, value), -Infinity);
  if (pairs.length === 0) return NO_RANGE;
  return {
    least,
    most: largest,
    limit: Math.max(0.1, Math.ceil(10 * Math.max(Math.abs(least), Math.abs(largest))) / 10),
  };
}

/**
 * Sorts securities so that similar ones are next to each other. The first has the highest mean correlation. Each next
 * one is most correlated with the one before it.
 */
function computeOrder(matrix: readonly (readonly number[])[]): readonly number[] {
  const sums = matrix.map((row) => row.reduce((sum, value) => sum + value, 0));
  const left = new Set(matrix.keys());
  const order: number[] = [];
  let next: number | undefined = sums.indexOf(Math.max(...sums));
  while (next !== undefined && left.delete(next)) {
    order.push(next);
    const row: readonly number[] = matrix[next]!; // `next` is a row of the matrix
    next = [...left].reduce<number | undefined>(
      (best, one) => (best === undefined || row[one]! > row[best]! ? one : best),
      undefined,
    );
  }
  return order;
}

/** Returns the annual volatility of a portfolio with equal weights in all securities, by the covariance of a model. */
export function computeEqualWeightVolatility(
  { asset_ids: ids, covariance }: RiskModelView,
  securities: readonly string[],
) {
  const places = securities.map((id) => ids.indexOf(id));
  const variance = places.reduce(
    (sum, row) => sum + places.reduce((part, column) => part + Number(covariance.data[row]?.[column] ?? 0), 0),
    0,
  );
  return Math.sqrt(Math.max(0, variance)) / securities.length;
}
