import type { ReturnVariant } from '../../market/market-data.js';
import { UNTAXED_TWINS, variantOn, variantsOn } from '../../market/price-basis.js';
import type { Continuation } from '../extend/continuation.js';
import type { Numbers, NumberType } from '../../numbers/number-types.js';
import type { Book } from '../../books/book.js';
import type { AddedSessions, Addition, Block, Comparison, Filling, WholeRun } from './block.js';

/** Parts of which the entries of the catalogue are made. */

export const byDate = (rank: number): Comparison => ({ by: 'date', rank });
export const byElement = (rank: number): Comparison => ({ by: 'element', rank });

/** Values that are in memory already, as a filling. */
export function ready<N extends Numbers>(values: N): Filling<N> {
  return { length: values.length, writeTo: (into) => into.set(values) };
}

export function readyOrNone<N extends Numbers>(values: N | null): Filling<N> | null {
  return values && ready(values);
}

/** Elements of the added sessions, after those stored. */
export function append<N extends Numbers>(...added: N[]): Addition<N> {
  return { appended: added };
}

interface Series extends Pick<Block<'f64'>, 'axes' | 'meaning' | 'compare'> {
  readonly whole: (source: WholeRun) => Float64Array | null;
  /** Beginning with the last session that is stored. */
  readonly added: (source: AddedSessions) => Float64Array | null;
}

/** A series on dates that an extension writes more of. */
export function series({ whole, added, ...of }: Series): Block<'f64'> {
  return {
    ...of,
    type: 'f64',
    upgrade: 'same',
    whole: (source) => readyOrNone(whole(source)),
    added(source) {
      const values = added(source);
      return values && append(values.subarray(1));
    },
  };
}

/** Level or divisor of the index in a return variant; none where the prices of the market have another basis. */
export function variant(of: ReturnVariant, member: 'level' | 'divisor', rank: number): Block<'f64'> {
  return series({
    axes: ['index dates'],
    compare: byDate(rank),
    meaning: `${of} return ${member}`,
    whole({ run }) {
      const { [of]: shown } = run.variants;
      return shown && shown[member];
    },
    added({ continuation }) {
      if (!variantsOn(continuation.index.sm.market).includes(of)) return null;
      const { levels } = continuation.index.book.reinvested ?? {};
      const isOwn = of === variantOn(continuation.index.sm.market, continuation.index.treatment.dividends);
      if (levels && !isOwn) return member === 'level' ? levels[of] : continuation.index.book.divisor;
      return variantAfter(continuation, of)[member === 'level' ? 'value' : 'divisor'];
    },
  });
}

/**
 * The book of a variant, as the whole run has it: those that nothing was simulated for are the index's own, or an
 * untaxed twin.
 */
function variantAfter({ index, variants }: Continuation, of: ReturnVariant): Book {
  const {
    treatment,
    sm: { market },
  } = index;
  const own = variantOn(market, treatment.dividends);
  const bookOf = (shown: ReturnVariant): Book =>
    shown === own ? index.book : (variants[shown] ?? bookOf(UNTAXED_TWINS[shown]));
  return bookOf(of);
}

/** Numbers of the record by type. */
export function pool<K extends NumberType>(type: K, meaning: string): Block<K> {
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
