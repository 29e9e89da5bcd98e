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
  /** Position of the security. It is that of the new code if a change of ticker takes effect in the step. */
  readonly n: number;
  /** New code of a change of ticker, which has the second bar. Default: both bars have one code. */
  readonly renamedTo?: string;
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
  const groups = new Map<string, StepBars>();
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
    // The bars of an old code belong to another security once its new code has a bar.
    const isOther = groupActions.some((action) => (findNewCode(action, content, position)?.to ?? Infinity) <= to);
    const growth = isOther ? ANY_GROWTH : computeUnexplainedGrowth(step);
    return { ...step, n, from, to, growth, isJump: isJump(growth), isMoved: isMoved(step) };
  });
}

/** Bars of a step, with its actions. */
interface StepBars {
  readonly n: number;
  readonly from: number;
  readonly to: number;
  readonly actions: CorporateAction[];
}

/** Growth of a step whose bars belong to different securities. */
const ANY_GROWTH: UnexplainedGrowth = { growths: [{ low: 0, high: Number.POSITIVE_INFINITY }], isAdjusted: true };

/**
 * Returns the steps from the last close of an old code to the first close of its new code on or after the ex-date of a
 * change of ticker, which an index holds afterwards. Codes in different currencies are not compared.
 * @cost O(1) per change of ticker, plus the actions of the old code and the sessions without a bar
 */
export function listRenamedSteps(content: MarketContent, adjustment: Adjustment): ActionStep[] {
  const { identifiers, dates, actions, fields, reference } = content;
  const changes = actions.filter(({ type }) => type === 'TICKER_CHANGE');
  if (changes.length === 0) return [];
  const ownActions = new Map(changes.map(({ identifier }) => [identifier, [] as CorporateAction[]]));
  for (const action of actions) if (action.status !== 'cancelled') ownActions.get(action.identifier)?.push(action);
  const close = fields.get('CLOSE')!;
  const width = identifiers.length;
  const position = new Map(identifiers.map((identifier, n) => [identifier, n]));
  const findRelatedPrice = createRelatedPrices(content, position);
  return changes.flatMap((change): ActionStep[] => {
    const old = position.get(change.identifier);
    const target = findNewCode(change, content, position);
    if (old === undefined || target === undefined) return [];
    const { n, to } = target;
    let from = to - 1;
    while (from >= 0 && Number.isNaN(close[from * width + old]!)) from--;
    const readCurrency = (name: string) => readReference(reference, name, 'CURRENCY', change.exDay);
    if (from < 0 || readCurrency(change.identifier) !== readCurrency(identifiers[n]!)) return [];
    const step = {
      before: close[from * width + old]!,
      close: close[to * width + n]!,
      actions: ownActions
        .get(change.identifier)!
        .filter((action) => action === change || (action.exDay > dates[from]! && action.exDay <= dates[to]!))
        .toSorted((a, b) => a.exDay - b.exDay),
      adjustment,
      findRelatedPrice,
    };
    const growth = computeUnexplainedGrowth(step);
    const renamedTo = identifiers[n]!;
    return [{ ...step, n, from, to, renamedTo, growth, isJump: isJump(growth), isMoved: isMoved(step) }];
  });
}

/** Returns the position and the first bar of the new code of a change of ticker; undefined if it is not applied. */
function findNewCode(
  { type, identifier, related, exDay, status }: CorporateAction,
  { identifiers, dates, fields }: MarketContent,
  position: ReadonlyMap<string, number>,
): { readonly n: number; readonly to: number } | undefined {
  const n = related === null || related === identifier ? undefined : position.get(related);
  if (type !== 'TICKER_CHANGE' || status === 'cancelled' || n === undefined) return undefined;
  const close = fields.get('CLOSE')!;
  let to = findFirstAtLeast(dates, exDay);
  while (to < dates.length && Number.isNaN(close[to * identifiers.length + n]!)) to++;
  return to === dates.length ? undefined : { n, to };
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
