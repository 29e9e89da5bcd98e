import { LIMITS } from '#domain/refusals/limits.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { SPACE } from '../style-sheet.js';
import type { AlignedBlock, LaidBlock, Part, Placement, Section } from './layout.js';

/** Blocks that start at the same height: one block of full width, or up to two blocks of half width. */
export type Band = readonly AlignedBlock[];

export interface ContentArea {
  readonly top: number;
  readonly height: number;
}

interface Cursor {
  readonly page: number;
  /** Distance from the top of the content area in points. */
  readonly y: number;
}

/** Minimum number of rows on the page of their title. */
const ROWS_WITH_TITLE = 2;

/**
 * Places all parts of a report on pages. Parts are not divided. A title is on the same page as at least the first two
 * rows of its block. The header of a section is repeated on every page with rows of the section. Blocks of half width
 * start side by side and continue independently.
 * @returns the placements of each page in reading order
 * @throws Refusal RENDER_FAILED if the report exceeds the maximum number of pages
 */
export function paginate(bands: readonly Band[], area: ContentArea): Placement[][] {
  const pages: Placement[][] = [[]];
  let block = 0;
  let cursor: Cursor = { page: 0, y: 0 };

  function placePart(part: Part, { x, at }: { readonly x: number; readonly at: Cursor }, position: number): Cursor {
    if (at.page >= LIMITS.MAX_REPORT_PAGES) {
      throw new Refusal('RENDER_FAILED', `The report has more than ${LIMITS.MAX_REPORT_PAGES} pages.`, {
        limit: LIMITS.MAX_REPORT_PAGES,
      });
    }
    while (pages.length <= at.page) pages.push([]);
    pages[at.page]!.push({ part, x, y: area.top + at.y, block: position });
    return { page: at.page, y: at.y + part.height };
  }

  const fits = (height: number, { y }: Cursor): boolean => y + height <= area.height + 1e-6;
  const createNextPage = ({ page }: Cursor): Cursor => ({ page: page + 1, y: 0 });

  function flowBlock({ block: laidBlock, x }: AlignedBlock, start: Cursor, position: number): Cursor {
    let blockPosition = start;
    if (laidBlock.title !== null) blockPosition = placePart(laidBlock.title, { x, at: blockPosition }, position);
    for (const [i, section] of laidBlock.sections.entries()) {
      const openingHeight = computeSectionStart(section);
      if (i > 0 && blockPosition.y > 0 && !fits(openingHeight, blockPosition))
        blockPosition = createNextPage(blockPosition);
      if (section.head !== null) blockPosition = placePart(section.head, { x, at: blockPosition }, position);
      for (const [r, row] of section.rows.entries()) {
        if (r > 0 && !fits(row.height, blockPosition)) {
          blockPosition = createNextPage(blockPosition);
          if (section.head !== null) blockPosition = placePart(section.head, { x, at: blockPosition }, position);
        }
        blockPosition = placePart(row, { x, at: blockPosition }, position);
      }
    }
    return blockPosition;
  }

  for (const band of bands) {
    if (cursor.y > 0 && band.some((alignedBlock) => alignedBlock.block.startsPage === true))
      cursor = createNextPage(cursor);
    // An empty band takes no space.
    if (band.every(({ block: { title, sections } }) => title === null && sections.length === 0)) {
      block += band.length;
      continue;
    }
    if (cursor.y > 0) cursor = { page: cursor.page, y: cursor.y + SPACE.block };
    const openingHeight = Math.max(
      ...band.map((alignedBlock) => computeOpeningHeight(alignedBlock.block, area.height)),
    );
    if (cursor.y > 0 && !fits(Math.min(openingHeight, area.height), cursor)) cursor = createNextPage(cursor);
    const blockEnds = band.map((alignedBlock) => flowBlock(alignedBlock, cursor, block++));
    cursor = blockEnds.reduce(
      (last, blockEnd) =>
        blockEnd.page > last.page || (blockEnd.page === last.page && blockEnd.y > last.y) ? blockEnd : last,
      cursor,
    );
  }
  return pages;
}

/** Fraction of the page height up to which a block is kept on one page. */
const WHOLE_SHARE = 0.35;

/** Returns the height of the first parts of a block that must be on the same page. */
function computeOpeningHeight({ title, sections }: LaidBlock, page: number): number {
  const titleHeight = title?.height ?? 0;
  const totalHeight = sections.reduce(
    (sum, { head, rows }) => rows.reduce((height, row) => height + row.height, sum + (head?.height ?? 0)),
    titleHeight,
  );
  if (totalHeight <= WHOLE_SHARE * page) return totalHeight;
  return titleHeight + (sections[0] === undefined ? 0 : computeSectionStart(sections[0]));
}

function computeSectionStart({ head, rows }: Section): number {
  return (head?.height ?? 0) + rows.slice(0, ROWS_WITH_TITLE).reduce((sum, { height }) => sum + height, 0);
}
