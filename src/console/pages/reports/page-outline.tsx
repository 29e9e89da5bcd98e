import type { JsonObject } from '../../words/paths.js';
import { countFigureColumns, formatBlockKind, formatBlockTitle, listFigures } from './block-words.js';
import { Shape } from './thumbnail.js';

/** Heights of some kinds of blocks in the outline. All other kinds are as high as a chart. */
const HEIGHTS: Readonly<Record<string, number>> = { header: 14, text: 22, table: 46 };
const CHART_HEIGHT = 42;
const WIDTH = 100;
/** Height of a text line in the outline. */
const LINE_HEIGHT = 7;

interface PageOutlineProps {
  readonly blocks: readonly JsonObject[];
  readonly size: string;
  readonly orientation: string;
}

/** Renders where the blocks of a template are on the page. Blocks of half width are side by side. */
export function PageOutline({ blocks, size, orientation }: PageOutlineProps) {
  return (
    <aside class="template-outline" aria-label="Outline of the report" tabIndex={0}>
      <p class="quiet">
        Outline, {size}, {orientation}. Preview renders the PDF with its values.
      </p>
      <ol class="template-sheet" data-paper={`${size} ${orientation}`}>
        {blocks.length === 0 && <li class="is-full">An empty page. Each block appears here in its place.</li>}
        {blocks.map((block, at) => (
          <li key={at} class={block['width'] === 'half' ? '' : 'is-full'}>
            <span>
              {at + 1}. {formatBlockTitle(block) || formatBlockKind(String(block['kind']))}
            </span>
            {block['kind'] === 'stat_grid' ? (
              <FigureOutline block={block} />
            ) : (
              <BlockOutline kind={String(block['kind'])} isHalf={block['width'] === 'half'} />
            )}
          </li>
        ))}
      </ol>
    </aside>
  );
}

/** Renders a box for each figure of a grid, with its label. */
function FigureOutline({ block }: { readonly block: JsonObject }) {
  return (
    <div
      class="outline-figures"
      style={{ gridTemplateColumns: `repeat(${countFigureColumns(block)}, minmax(0, 1fr))` }}
    >
      {listFigures(block).map((label) => (
        <span key={label} title={label}>
          {label}
        </span>
      ))}
    </div>
  );
}

function BlockOutline({ kind, isHalf }: { readonly kind: string; readonly isHalf: boolean }) {
  const h = HEIGHTS[kind] ?? CHART_HEIGHT;
  const w = isHalf ? WIDTH : 2 * WIDTH;
  return (
    <svg class="template-page" viewBox={`0 0 ${w} ${h}`} preserveAspectRatio="none" height={h} aria-hidden="true">
      {kind === 'table' || kind === 'text' ? (
        <path
          class="rule"
          d={Array.from(
            { length: Math.floor(h / LINE_HEIGHT) },
            (_, k) => `M0 ${k * LINE_HEIGHT + LINE_HEIGHT / 2}h${w}`,
          ).join('')}
        />
      ) : (
        <Shape kind={kind} x={0} y={1} w={w} h={h - 2} />
      )}
    </svg>
  );
}
