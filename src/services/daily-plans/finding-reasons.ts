import { formatCount } from '#domain/catalogue/sentence-numbers.js';
import { formatPercent } from '#domain/daily-plans/checks/check-kind.js';
import type { StoredItem } from '#domain/daily-plans/day-document.js';
import { LISTED_MAX, type FindingDetail } from './steps/checks.js';

type Item = Pick<StoredItem, 'state' | 'message' | 'detail'>;

/**
 * Returns the reason why a step holds back an index, from the items of the index. The reason states the number of
 * findings if there are several, and the largest of several price moves.
 */
export function describeReason(items: readonly Item[]): string {
  const message = items[0]?.message ?? '';
  if (items.length < 2 || items.some((item) => readFinding(item).check === undefined)) return message;
  const moves = isMove(items[0]!) ? items.filter(isMove) : [];
  const summary = summariseMoves(moves);
  if (summary === null) return `${message} And ${formatRest(items.length - 1)}.`;
  return moves.length === items.length ? summary : `${summary} And ${formatRest(items.length - moves.length)}.`;
}

const readFinding = ({ detail }: Pick<Item, 'detail'>): Partial<FindingDetail> =>
  (detail as Partial<FindingDetail> | null) ?? {}; // the step of checks wrote the detail

const isMove = (item: Item): boolean => item.state === 'blocked' && readFinding(item).check === 'moves';

/** Formats the number of further findings. A step lists only the first findings of a check. */
const formatRest = (count: number): string =>
  `${count >= LISTED_MAX ? 'at least ' : ''}${formatCount(count, 'more finding')}`;

/** Summarises price moves with a common limit; null for a single move, and if not all moves are listed. */
function summariseMoves(moves: readonly Item[]): string | null {
  const measures = moves.flatMap((item) => {
    const { identifier, measure } = readFinding(item);
    return identifier == null || measure == null ? [] : [{ identifier, ...measure }];
  });
  const [first] = measures;
  if (first === undefined || moves.length < 2 || measures.length < moves.length) return null;
  if (measures.some(({ limit }) => limit !== first.limit)) return null;
  const largest = measures.reduce((a, b) => (Math.abs(b.value) > Math.abs(a.value) ? b : a));
  return `${formatCount(moves.length, 'unexplained move')}, largest ${largest.identifier} ${formatPercent(largest.value)}, limit ${formatPercent(first.limit)}.`;
}
