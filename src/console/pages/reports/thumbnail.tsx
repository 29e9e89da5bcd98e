import type { ReportTemplateDocument } from '#clients/typescript/divisor.js';
import type { JsonObject } from '../../words/paths.js';
import { countFigureColumns } from './block-words.js';

type Block = ReportTemplateDocument['blocks'][number];
type Paper = ReportTemplateDocument['page'];

/** Width of a page. The height depends on the paper size. */
const WIDTH = 72;
const MARGIN = 6;
const GAP = 3;

/** Height of a page as a multiple of its width. */
const RATIOS: Readonly<Record<string, number>> = { A4: 297 / 210, LETTER: 11 / 8.5 };

/** Heights of some kinds of blocks in an outline. All other kinds are as high as a chart. */
const HEIGHTS: Readonly<Record<string, number>> = { header: 5, text: 8, stat_grid: 7 };
const CHART_HEIGHT = 13;
/** Height of a table row or a bar. */
const ROW_HEIGHT = 2.4;
const ROWS_MAX = 8;

/**
 * Returns the height of a block in an outline. It depends on the kind of the block, and for some kinds on other
 * members.
 */
const computeHeight = ({ kind, ...block }: Block): number => {
  const { limit = null, height = null } = block as { readonly limit?: number | null; readonly height?: number | null };
  if (kind === 'table' || kind === 'bar_chart') return 2 + ROW_HEIGHT * Math.min(limit ?? ROWS_MAX, ROWS_MAX);
  return kind === 'chart' && height !== null ? height / 12 : (HEIGHTS[kind] ?? CHART_HEIGHT);
};

const describeShape = (block: Block): Pick<ShapeProps, 'kind' | 'columns'> => ({
  kind: block.kind,
  columns: countFigureColumns(block as unknown as JsonObject), // a block is plain JSON
});

const isHalf = (block: Block): boolean => 'width' in block && block.width === 'half';

/**
 * Renders the outline of a template's first page. Blocks of half width are side by side, and each block has its own
 * shape.
 */
export function Thumbnail({ blocks, page }: { readonly blocks: readonly Block[]; readonly page: Paper | undefined }) {
  const ratio = RATIOS[page?.size ?? 'A4'] ?? RATIOS['A4']!;
  const isWide = page?.orientation === 'landscape';
  const [width, height] = isWide ? [WIDTH * ratio, WIDTH] : [WIDTH, WIDTH * ratio];
  const shapes: ShapeProps[] = [];
  const fullWidth = width - 2 * MARGIN;
  let y = MARGIN;
  for (let k = 0; k < blocks.length && y < height - MARGIN - 3; k++) {
    const row = isHalf(blocks[k]!) && blocks[k + 1] !== undefined && isHalf(blocks[k + 1]!) ? [k, ++k] : [k];
    const w = isHalf(blocks[k]!) ? (fullWidth - GAP) / 2 : fullWidth;
    const h = Math.min(Math.max(...row.map((at) => computeHeight(blocks[at]!))), height - MARGIN - y);
    shapes.push(...row.map((at, place) => ({ ...describeShape(blocks[at]!), x: MARGIN + place * (w + GAP), y, w, h })));
    y += h + GAP;
  }
  return (
    <svg class="template-page" viewBox={`0 0 ${width} ${height}`} width={width} height={height} aria-hidden="true">
      <rect class="paper" x="0.5" y="0.5" width={width - 1} height={height - 1} rx="2" />
      {shapes.map((shape, k) => (
        <Shape key={k} {...shape} />
      ))}
    </svg>
  );
}

interface ShapeProps {
  readonly kind: string;
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
  /** Number of boxes of a grid of figures. */
  readonly columns?: number;
}

/** Renders the shape for a kind of block. */
export function Shape({ kind, x, y, w, h, columns = 1 }: ShapeProps) {
  switch (kind) {
    case 'header':
      return <rect class="ink" x={x} y={y} width={w * 0.6} height={h} />;
    case 'text':
      return (
        <path class="rule" d={drawLines(h, (k, count) => `M${x} ${y + 1 + 2 * k}h${k === count - 1 ? w / 2 : w}`)} />
      );
    case 'table':
      return (
        <>
          <path class="table-head" d={`M${x} ${y + 1}h${w}`} />
          <path
            class="rule"
            d={drawLines(
              h - 3,
              (k) =>
                `M${x} ${y + 4 + 2 * k}h${w * 0.45}M${x + w * 0.6} ${y + 4 + 2 * k}h${w * 0.14}M${x + w * 0.86} ${y + 4 + 2 * k}h${w * 0.14}`,
            )}
          />
        </>
      );
    case 'stat_grid':
      return (
        <path
          class="rule"
          d={Array.from(
            { length: columns },
            (_, k) => `M${x + (k * w) / columns} ${y}h${w / columns - 2}v${h}h${2 - w / columns}z`,
          ).join('')}
        />
      );
    case 'bar_chart':
      return (
        <path
          class="bar-rows"
          d={[0, 1, 2, 3].map((k) => `M${x} ${y + 2 + (k * h) / 4}h${w * (1 - k / 5)}`).join('')}
        />
      );
    default:
      return (
        <>
          <path class="rule" d={`M${x} ${y}v${h}h${w}`} />
          <path
            class="curve"
            d={`M${x} ${y + h * 0.9}${CURVE_STEPS.map(([right, up]) => `l${w * right} ${-h * up}`).join('')}`}
          />
        </>
      );
  }
}

/** Steps of the line of a chart to the right and upwards, as shares of its width and height. */
const CURVE_STEPS = [
  [0.12, 0.1],
  [0.1, 0.22],
  [0.12, -0.12],
  [0.16, 0.28],
  [0.14, 0.06],
  [0.12, -0.18],
  [0.24, 0.44],
] as const;

/** Returns lines of text or of a table, two units apart. */
function drawLines(height: number, drawLine: (k: number, count: number) => string): string {
  const count = Math.max(1, Math.ceil(height / 2));
  return Array.from({ length: count }, (_, k) => drawLine(k, count)).join('');
}
