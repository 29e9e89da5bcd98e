import type { ReturnVariant } from '../market/market-data.js';
import type { Finding } from '../refusals/findings.js';
import { UNTAXED_VARIANTS, resolveVariant, listVariants } from '../market/price-basis.js';
import type { Book, LevelsOnlyEnd } from '../books/book.js';
import type { Compositions } from '../books/compositions.js';
import { simulateIndexBook, type IndexRun } from '../books/index-run.js';
import { toStoredIndex, type StoredOverlay } from './extend/overlay-state.js';
import { shortenBookEnd } from '../books/resumed-book.js';
import type { Run, VariantLevel, RunEndState } from './run.js';

interface ComputedVariants {
  readonly variants: Run['variants'];
  readonly ends: Pick<RunEndState, 'variants' | 'overlays' | 'decisionsBeneath'>;
}

export function computeVariants({ compositions, book }: IndexRun, to: number): ComputedVariants {
  const {
    treatment,
    sm: { market },
  } = compositions;
  const definedVariant = resolveVariant(market, treatment.dividends);
  const levelByVariant = new Map<ReturnVariant, VariantLevel>([[definedVariant, toVariantLevel(book)]]);
  const ends: Partial<Record<ReturnVariant, LevelsOnlyEnd>> = {};
  const overlays: Partial<Record<ReturnVariant, StoredOverlay>> = {};
  for (const variant of listVariants(market)) {
    if (levelByVariant.has(variant)) continue;
    if (book.reinvested) {
      levelByVariant.set(variant, { level: book.reinvested.levels[variant], divisor: book.divisor });
      continue;
    }
    const variantLevel = treatment.withholding_tax === 0 ? levelByVariant.get(UNTAXED_VARIANTS[variant]) : undefined;
    const variantBook =
      variantLevel === undefined ? simulateIndexBook({ compositions, to, variant, isBrief: true }) : null;
    if (variantBook && variantBook.overlay === undefined) ends[variant] = shortenBookEnd(variantBook);
    else if (variantBook) overlays[variant] = toStoredIndex(variantBook) as StoredOverlay; // the book of an overlay is stored as an overlay
    levelByVariant.set(variant, variantLevel ?? toVariantLevel(variantBook!)); // either the twin or the simulation is present
  }
  const findLevel = (variant: ReturnVariant): VariantLevel | null => levelByVariant.get(variant) ?? null;
  return {
    variants: { price: findLevel('price'), total: findLevel('total'), net: findLevel('net') },
    ends: {
      variants: ends,
      ...(book.overlay ? { overlays, decisionsBeneath: listUnderlyingDecisions(compositions) } : {}),
    },
  };
}

/**
 * Returns the findings of the decisions on the underlying indices of an overlay, one list per index, in the order of
 * the overlay's sources. For an index that is not an overlay, the only list is that of the index.
 */
function listUnderlyingDecisions({ findings, overlay }: Compositions): readonly (readonly Finding[])[] {
  return overlay?.sources.flatMap(listUnderlyingDecisions) ?? [findings];
}

function toVariantLevel({ value: level, divisor }: Pick<Book, 'value' | 'divisor'>): VariantLevel {
  return { level, divisor };
}
