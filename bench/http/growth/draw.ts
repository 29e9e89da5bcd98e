import { logAxis, type Extent, type ValueAxis } from '#views/report/chart/value-axis.js';
import { isSlower, slope, type Cost } from './trend.js';

export interface DrawnGrowth {
  readonly name: string;
  readonly axis: string;
  readonly costs: readonly Cost[];
  /** Of the stored results, those of the same sizes. */
  readonly before: readonly Cost[];
}

const PANEL = { width: 420, height: 300 };
const ROOM = { left: 62, right: 16, top: 44, bottom: 44 };
const COLUMNS = 2;
/** Below the panels, for the line that says what the colours are. */
const LEGEND = 24;
const TICKS_MAX = 6;
const INK = '#222222';
const GRID = '#dddddd';
const NOW = '#1f5fa8';
const BEFORE = '#999999';
const SLOWER = '#c03020';

/** Costs against sizes on logarithmic scales: a panel each, its exponent above. @returns a whole SVG document */
export function drawGrowths(growths: readonly DrawnGrowth[]): string {
  const rows = Math.ceil(growths.length / COLUMNS);
  const [width, height] = [COLUMNS * PANEL.width, rows * PANEL.height + LEGEND];
  const panels = growths.map((growth, i) => {
    const [x, y] = [(i % COLUMNS) * PANEL.width, Math.floor(i / COLUMNS) * PANEL.height];
    return `<g transform="translate(${x} ${y})">${panel(growth)}</g>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"`,
    ` font-family="sans-serif" font-size="11" fill="${INK}" role="img">`,
    '<title>Processor time of a job against the size of its work, on logarithmic scales</title>',
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    ...panels,
    text(ROOM.left, height - 10, 'Blue: now. Grey: the stored results. Ringed: slower than these in every turn.'),
    '</svg>\n',
  ].join('\n');
}

interface Scales {
  readonly x: ValueAxis;
  readonly y: ValueAxis;
}

function panel({ name, axis, costs, before }: DrawnGrowth): string {
  const all = [...costs, ...before];
  const scales = {
    x: logAxis(extentOf(all.map(({ x }) => x)), TICKS_MAX),
    y: logAxis(extentOf(all.map(({ ms }) => ms)), TICKS_MAX),
  };
  const slower = costs.filter(({ x, yardsticks }) => {
    const then = before.find((one) => one.x === x);
    return then !== undefined && isSlower(yardsticks, then.yardsticks);
  });
  const [whole, end] = [costs, costs.slice(-2)].map((some) => slope(some).toFixed(2));
  const exponent = costs.length < 2 ? '' : ` as ${escaped(axis)}^${whole}, at the end ^${end}`;
  return [
    text(ROOM.left, 18, escaped(name), 'font-size="13" font-weight="bold"'),
    text(ROOM.left, 34, `processor ms${exponent}`),
    ...grid(scales),
    text((ROOM.left + PANEL.width - ROOM.right) / 2, PANEL.height - 8, escaped(axis), 'text-anchor="middle"'),
    curve(before, scales, BEFORE),
    curve(costs, scales, NOW),
    ...slower.map((cost) => {
      const [x, y] = placed(cost, scales);
      return `<circle cx="${x}" cy="${y}" r="7" fill="none" stroke="${SLOWER}" stroke-width="2"/>`;
    }),
  ].join('\n');
}

function extentOf(values: readonly number[]): Extent {
  return { low: Math.min(...values), high: Math.max(...values) };
}

function grid({ x, y }: Scales): string[] {
  const bottom = PANEL.height - ROOM.bottom;
  const right = PANEL.width - ROOM.right;
  return [
    ...x.ticks.flatMap((tick) => {
      const at = across(x, tick);
      return [line([at, ROOM.top], [at, bottom]), text(at, bottom + 16, shown(tick), 'text-anchor="middle"')];
    }),
    ...y.ticks.flatMap((tick) => {
      const at = up(y, tick);
      return [line([ROOM.left, at], [right, at]), text(ROOM.left - 6, at + 4, shown(tick), 'text-anchor="end"')];
    }),
  ];
}

function curve(costs: readonly Cost[], scales: Scales, colour: string): string {
  const points = costs.map((cost) => placed(cost, scales));
  const path = points.map(([x, y]) => `${x},${y}`).join(' ');
  const dots = points.map(([x, y]) => `<circle cx="${x}" cy="${y}" r="3" fill="${colour}"/>`).join('');
  return `<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="1.5"/>${dots}`;
}

const placed = ({ x, ms }: Cost, scales: Scales): readonly [number, number] => [across(scales.x, x), up(scales.y, ms)];
const across = (axis: ValueAxis, value: number): number =>
  rounded(ROOM.left + axis.position(value) * (PANEL.width - ROOM.left - ROOM.right));
const up = (axis: ValueAxis, value: number): number =>
  rounded(PANEL.height - ROOM.bottom - axis.position(value) * (PANEL.height - ROOM.top - ROOM.bottom));
const rounded = (value: number): number => Math.round(value * 10) / 10;
const shown = (value: number): string => String(Number(value.toPrecision(3)));
const escaped = (words: string): string => words.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

function line([x1, y1]: readonly [number, number], [x2, y2]: readonly [number, number]): string {
  return `<line x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}" stroke="${GRID}"/>`;
}

function text(x: number, y: number, words: string, more = ''): string {
  return `<text x="${x}" y="${y}" ${more}>${words}</text>`;
}
