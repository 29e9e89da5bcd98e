import { keyOf, type GrowthTerms } from './growth-terms.js';
import { ACTION_KINDS, type Adjustment, type CorporateAction } from './market-data.js';
import type { SessionMarket } from './session-market.js';

/** Effect of a session's corporate actions on the value of a holding. */
export interface SessionEffect {
  /** Share-count multiplier of splits, stock dividends and bonus issues. */
  readonly ratio: number;
  /** Cash per share that the variant reinvests, on the new share basis. */
  readonly cash: number;
  /** Rights issued per share, and what a new share costs; zero without an issue that adjusts. */
  readonly rights: number;
  readonly subscription: number;
}

/** An effect on one name. */
export interface PlacedEffect extends SessionEffect {
  readonly column: number;
}

/** Effects of every session as columns, by session then name, [A] each: a book reads those of each session in turn. */
export interface EffectTable {
  /** Columns of their names. */
  readonly columns: Int32Array;
  readonly ratio: Float64Array;
  readonly cash: Float64Array;
  readonly rights: Float64Array;
  readonly subscription: Float64Array;
  /** Position of the first of each session, [S + 1]. */
  readonly starts: Int32Array;
  /** Carried close of the name of each on its session, NaN until it is asked for: see `closeOfEffect`. */
  readonly closes: Float64Array;
  /** Session of each. */
  readonly sessions: Int32Array;
}

/** Terms whose effects are cached: more than a definition has variants. */
const TABLES_MAX = 8;

const tablesOf = new WeakMap<SessionMarket, Map<string, EffectTable>>();

/** Effects of all actions under given terms. @cost O(A) once per market and terms */
export function effectTable(sm: SessionMarket, terms: GrowthTerms): EffectTable {
  let tables = tablesOf.get(sm);
  if (!tables) tablesOf.set(sm, (tables = new Map()));
  const key = keyOf(terms);
  let table = tables.get(key);
  if (!table) {
    tables.set(key, (table = readEffects(sm, terms)));
    if (tables.size > TABLES_MAX) tables.delete(tables.keys().next().value!);
  }
  return table;
}

/** The effect on a name on a session, undefined when there is none. */
export function effectOn(table: EffectTable, session: number, column: number): PlacedEffect | undefined {
  const { columns, starts } = table;
  for (let e = starts[session]!; e < starts[session + 1]!; e++) if (columns[e] === column) return effectAt(table, e);
  return undefined;
}

/** The effect at a position. */
export function effectAt({ columns, ratio, cash, rights, subscription }: EffectTable, position: number): PlacedEffect {
  return {
    column: columns[position]!,
    ratio: ratio[position]!,
    cash: cash[position]!,
    rights: rights[position]!,
    subscription: subscription[position]!,
  };
}

/** Carried close of the name of an effect on its session. It is looked up once: those of a session lie far apart. */
export function closeOfEffect(sm: SessionMarket, { columns, sessions, closes }: EffectTable, at: number): number {
  const known = closes[at]!;
  return known === known ? known : (closes[at] = sm.carriedClose(sessions[at]!, columns[at]!));
}

function readEffects(sm: SessionMarket, terms: GrowthTerms): EffectTable {
  const { all } = sm.actions;
  const effects: PlacedEffect[] = [];
  const sessions: number[] = [];
  const starts = new Int32Array(sm.sessions.length + 1);
  let session = -1;
  for (const placed of all) {
    const change = effectOf(placed.action, sm.market.adjustment, terms);
    if (change === undefined) continue;
    const before = effects.at(-1);
    if (before?.column === placed.column && session === placed.session) {
      effects[effects.length - 1] = { column: placed.column, ...together(before, change) };
      continue;
    }
    session = placed.session;
    effects.push({
      column: placed.column,
      ratio: change.ratio,
      cash: change.cash,
      rights: change.rights,
      subscription: change.subscription,
    });
    sessions.push(session);
    starts[session + 1]!++;
  }
  for (let s = 0; s < sm.sessions.length; s++) starts[s + 1]! += starts[s]!;
  return {
    columns: Int32Array.from(effects, ({ column }) => column),
    ratio: Float64Array.from(effects, ({ ratio }) => ratio),
    cash: Float64Array.from(effects, ({ cash }) => cash),
    rights: Float64Array.from(effects, ({ rights }) => rights),
    subscription: Float64Array.from(effects, ({ subscription }) => subscription),
    starts,
    closes: new Float64Array(effects.length).fill(Number.NaN),
    sessions: Int32Array.from(sessions),
  };
}

const NO_EFFECT: SessionEffect = { ratio: 1, cash: 0, rights: 0, subscription: 0 };

/** Effects of one name on one session as one. */
export function together(before: SessionEffect, change: SessionEffect): SessionEffect {
  return {
    ratio: before.ratio * change.ratio,
    cash: before.cash + change.cash,
    rights: before.rights + change.rights,
    subscription: change.rights === 0 ? before.subscription : change.subscription,
  };
}

/** The effect of an action on prices of an adjustment; undefined when it has none. */
export function effectOf(
  action: CorporateAction,
  adjustment: Adjustment,
  terms: GrowthTerms,
): SessionEffect | undefined {
  if (adjustment === 'total') return undefined;
  if (ACTION_KINDS[action.type] === 'ratio') {
    return adjustment === 'none' && terms.splits === 'apply' ? { ...NO_EFFECT, ratio: action.value } : undefined;
  }
  switch (action.type) {
    case 'DIVIDEND': {
      const share = { price: 0, total: 1, net: 1 - terms.withholdingTax }[terms.variant];
      return share === 0 ? undefined : { ...NO_EFFECT, cash: share * action.value };
    }
    case 'SPECIAL_DIVIDEND':
    case 'RETURN_OF_CAPITAL':
      return terms.specialDividends === 'ignore' ? undefined : { ...NO_EFFECT, cash: action.value };
    case 'RIGHTS_ISSUE':
      if (action.subscriptionPrice === null || !(action.value > 0)) return undefined;
      return { ...NO_EFFECT, rights: action.value, subscription: action.subscriptionPrice };
    default:
      return undefined;
  }
}
