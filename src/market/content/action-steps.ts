import {
  computeUnexplainedGrowth,
  isJump,
  isMoved,
  type CloseStep,
  type UnexplainedGrowth,
} from '#domain/index-mathematics/unexplained-growth.js';
import { readReference, type Adjustment, type CorporateAction } from '#domain/market/market-data.js';
import { findFirstAtLeast } from '#domain/numbers/search.js';
import type { MarketContent } from './market-content.js';

/** Maximum number of sessions after an ex-date on which the price of another security is searched. */
const SEARCHED_SESSIONS = 10;

/** Step of a close from one bar to the next, with the actions that take effect in between. */
export interface ActionStep extends CloseStep {
  /** Position of the security. */
  readonly n: number;
  /** Rows of both bars. */
  readonly from: number;
  readonly to: number;
  readonly growth: UnexplainedGrowth;
  /** True if the actions do not explain the move of the close, or the close does not move although they require it. */
  readonly isJump: boolean;
  /** True if the close moved. */
  readonly isMoved: boolean;
}

/**
 * Returns the steps of closes with actions, by security. Actions before the first bar or after the last bar of their
 * security are in no step.
 * @cost O(1) per action, plus the sessions on which its security has no bar
 */
export function listActionSteps(content: MarketContent, adjustment: Adjustment): ActionStep[] {
  const { identifiers, dates, actions, fields } = content;
  const close = fields.get('CLOSE')!;
  const width = identifiers.length;
  const position = new Map(identifiers.map((identifier, n) => [identifier, n]));
  const findRelatedPrice = createRelatedPrices(content, position);
  const groups = new Map<string, { n: number; from: number; to: number; actions: CorporateAction[] }>();
  for (const action of actions) {
    const n = position.get(action.identifier);
    if (n === undefined || action.status === 'cancelled') continue;
    const session = findFirstAtLeast(dates, action.exDay);
    const hasBar = (t: number) => !Number.isNaN(close[t * width + n]!);
    let [from, to] = [session - 1, session];
    while (from >= 0 && !hasBar(from)) from--;
    while (to < dates.length && !hasBar(to)) to++;
    if (from < 0 || to === dates.length) continue;
    const key = `${n} ${to}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { n, from, to, actions: [action] });
    else group.actions.push(action);
  }
  return [...groups.values()].map(({ n, from, to, actions: groupActions }) => {
    const step = {
      before: close[from * width + n]!,
      close: close[to * width + n]!,
      actions: groupActions.toSorted((a, b) => a.exDay - b.exDay),
      adjustment,
      findRelatedPrice,
    };
    const growth = computeUnexplainedGrowth(step);
    return { ...step, n, from, to, growth, isJump: isJump(growth), isMoved: isMoved(step) };
  });
}

/** Returns a function that returns the first price of the related security of an action on or soon after its ex-date. */
function createRelatedPrices(
  { identifiers, dates, fields, reference }: MarketContent,
  position: ReadonlyMap<string, number>,
): CloseStep['findRelatedPrice'] {
  const close = fields.get('CLOSE')!;
  return ({ identifier, related, exDay }) => {
    const n = related === null ? undefined : position.get(related);
    const readCurrency = (name: string) => readReference(reference, name, 'CURRENCY', exDay);
    if (n === undefined || readCurrency(identifier) !== readCurrency(related!)) return Number.NaN;
    const first = findFirstAtLeast(dates, exDay);
    for (let t = first; t < Math.min(first + SEARCHED_SESSIONS, dates.length); t++) {
      const price = close[t * identifiers.length + n]!;
      if (!Number.isNaN(price)) return price;
    }
    return Number.NaN;
  };
}
