import type { ReturnVariant } from '../../market/market-data.js';
import { UNTAXED_VARIANTS, resolveVariant, listVariants } from '../../market/price-basis.js';
import type { Continuation } from '../extend/continuation.js';
import type { Numbers, NumberType } from '../../numbers/number-types.js';
import type { Book } from '../../books/book.js';
import type { AppendedSessions, Addition, Block, BlockComparison, BlockFiller, WholeRun } from './block.js';

/** Shorthands for the catalogue entries. */

export const compareByDate = (rank: number): BlockComparison => ({ by: 'date', rank });
export const compareByElement = (rank: number): BlockComparison => ({ by: 'element', rank });

/** Returns a filler that copies values from memory. */
export function toFilling<N extends Numbers>(values: N): BlockFiller<N> {
  return { length: values.length, writeTo: (into) => into.set(values) };
}

export function toFillingOrNull<N extends Numbers>(values: N | null): BlockFiller<N> | null {
  return values && toFilling(values);
}

/** Returns an addition that appends elements to the stored ones. */
export function createAppended<N extends Numbers>(...added: N[]): Addition<N> {
  return { appended: added };
}

interface SeriesSource extends Pick<Block<'f64'>, 'axes' | 'meaning' | 'compare'> {
  readonly whole: (source: WholeRun) => Float64Array | null;
  /** Elements of an extension, beginning with the last stored session. */
  readonly added: (source: AppendedSessions) => Float64Array | null;
}

/** Creates a block with one value per date, to which an extension appends. */
export function createSeriesBlock({ whole, added, ...description }: SeriesSource): Block<'f64'> {
  return {
    ...description,
    type: 'f64',
    upgrade: 'same',
    whole: (source) => toFillingOrNull(whole(source)),
    added(source) {
      const values = added(source);
      return values && createAppended(values.subarray(1));
    },
  };
}

/**
 * Creates the block of the index level or divisor in a return variant. The block is absent if the market prices do not
 * allow that variant.
 */
export function createVariantBlock(variant: ReturnVariant, member: 'level' | 'divisor', rank: number): Block<'f64'> {
  return createSeriesBlock({
    axes: ['index dates'],
    compare: compareByDate(rank),
    meaning: `${variant} return ${member}`,
    whole({ run }) {
      const { [variant]: variantLevel } = run.variants;
      return variantLevel && variantLevel[member];
    },
    added({ continuation }) {
      if (!listVariants(continuation.index.sm.market).includes(variant)) return null;
      const { levels } = continuation.index.book.reinvested ?? {};
      const isOwn = variant === resolveVariant(continuation.index.sm.market, continuation.index.treatment.dividends);
      if (levels && !isOwn) return member === 'level' ? levels[variant] : continuation.index.book.divisor;
      return findVariantBook(continuation, variant)[member === 'level' ? 'value' : 'divisor'];
    },
  });
}

/**
 * Returns the book of a return variant as in a full run. A variant that is not simulated shares the book of the index,
 * or of the variant before tax.
 */
function findVariantBook({ index, variants }: Continuation, variant: ReturnVariant): Book {
  const {
    treatment,
    sm: { market },
  } = index;
  const ownVariant = resolveVariant(market, treatment.dividends);
  const findBook = (otherVariant: ReturnVariant): Book =>
    otherVariant === ownVariant ? index.book : (variants[otherVariant] ?? findBook(UNTAXED_VARIANTS[otherVariant]));
  return findBook(variant);
}

/** Creates the block for numbers of the record of one type. */
export function createPoolBlock<K extends NumberType>(type: K, meaning: string): Block<K> {
  return {
    type,
    meaning,
    axes: ['numbers'],
    compare: { by: 'record' },
    upgrade: 'absent',
    whole: ({ record: { pools } }) => ({ length: pools[type].length, writeTo: (into) => pools[type].writeTo(into) }),
    added: ({ record }) => ({ appended: record.added[type] }),
  };
}
