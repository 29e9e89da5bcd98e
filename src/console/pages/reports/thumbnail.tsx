import type { ReportTemplateDocument } from '#clients/typescript/divisor.js';

type Block = ReportTemplateDocument['blocks'][number];

const WIDTH = 44;
const HEIGHT = 60;
const MARGIN = 4;

/** Heights of the kinds of blocks in an outline. All other kinds have the height of a chart. */
const HEIGHTS: Readonly<Record<string, number>> = { header: 5, text: 6, stat_grid: 7, table: 14 };
const CHART_HEIGHT = 13;

/** Renders the outline of a template's first page, with a shape for each block. */
export function Thumbnail({ blocks, isWide }: { readonly blocks: readonly Block[]; readonly isWide: boolean }) {
  const [width, height] = isWide ? [HEIGHT, WIDTH] : [WIDTH, HEIGHT];
  const shapes: { kind: string; y: number; h: number }[] = [];
  let y = MARGIN;
  for (const { kind } of blocks) {
    const h = Math.min(HEIGHTS[kind] ?? CHART_HEIGHT, height - MARGIN - y);
    if (h < 3) break;
    shapes.push({ kind, y, h });
    y += h + 2;
  }
  return (
    <svg class="template-page" viewBox={`0 0 ${width} ${height}`} width={width} height={height} aria-hidden="true">
      <rect class="paper" x="0.5" y="0.5" width={width - 1} height={height - 1} rx="2" />
      {shapes.map(({ kind, y: top, h }) => (
        <Shape key={top} kind={kind} x={MARGIN} y={top} w={width - 2 * MARGIN} h={h} />
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
}

/** Renders the shape for a kind of block. */
export function Shape({ kind, x, y, w, h }: ShapeProps) {
  switch (kind) {
    case 'header':
      return <rect class="ink" x={x} y={y} width={w * 0.6} height={h} />;
    case 'text':
    case 'table':
      return (
        <path
          class="rule"
          d={Array.from({ length: Math.ceil(h / 2) }, (_, k) => `M${x} ${y + 1 + 2 * k}h${w}`).join('')}
        />
      );
    case 'stat_grid':
      return (
        <path
          class="rule"
          d={[0, 1, 2].map((k) => `M${x + (k * w) / 3} ${y}h${w / 3 - 2}v${h}h${2 - w / 3}z`).join('')}
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
        <path
          class="curve"
          d={`M${x} ${y + h}l${w * 0.25} ${-h * 0.5} ${w * 0.2} ${h * 0.2} ${w * 0.55} ${-h * 0.7}`}
        />
      );
  }
}
