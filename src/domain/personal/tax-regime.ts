import type { TaxPiece, TaxSide } from '#kernels/lots/account-program.js';
import type { Finding } from '../base/findings.js';
import { type Day, formatDay, parseValidDay, toCivilDate, toDay } from '../base/time.js';
import type { Account, AccountLot, AccountTax, RecentTrade, TaxPot, TaxRegime } from './account.js';

/** Amounts of the first and the second pot of a regime; those of the United States are short-term and long-term. */
export interface Gains {
  readonly short: number;
  readonly long: number;
}

/** Returns the regime of an account. Default: that of the United States, with the rates and rules of the other fields. */
export function readRegime(tax: AccountTax): TaxRegime {
  if (tax.regime !== null) return tax.regime;
  const { short_rate, long_rate, netting, wash_sale_days, lot_method } = tax;
  const isNetted = netting === 'us';
  return {
    name: 'United States',
    pots: [
      { pot: 'short', rate: short_rate, offsets: isNetted ? ['long'] : [] },
      { pot: 'long', rate: long_rate, held_years: 1, offsets: isNetted ? ['short'] : [] },
    ],
    surcharge: 0,
    lots: lot_method,
    matching_days: [],
    wash_sale: { days: wash_sale_days },
    allowance: 0,
    carried_losses: 'before_allowance',
    dividends: null,
    year_begins: '01-01',
  };
}

/** Returns the tax rates of the pots, with the surcharge. A single pot has both. */
export function readRates({ pots, surcharge }: TaxRegime): Gains {
  const [first, second = first] = pots.map(({ rate }) => rate * (1 + surcharge)) as [number, number?];
  return { short: first, long: second };
}

/** Returns the number of days before and after a sale at a loss in which purchases replace it; -1 without a rule. */
export const readWashDays = ({ wash_sale: rule }: TaxRegime): number => rule?.days ?? -1;

/** Returns the number of days after a sale in which purchases are matched with it. */
export const readMatchingDays = ({ matching_days: days }: TaxRegime): number => days.at(-1) ?? 0;

interface Balances {
  readonly realised: Gains;
  readonly carried: Gains;
}

const hasBalances = ({ realised_by_pot, carried_by_pot }: AccountTax): boolean =>
  Object.keys(realised_by_pot).length > 0 || Object.keys(carried_by_pot).length > 0;

/** Returns the net gains of the year so far and the losses carried forward, by pot. */
export function readBalances(tax: AccountTax): Balances {
  const { regime, realised, carry_forward, realised_by_pot, carried_by_pot } = tax;
  if (regime === null && !hasBalances(tax)) return { realised, carried: { short: carry_forward, long: 0 } };
  const [first, second] = readRegime(tax).pots.map(({ pot }) => pot) as [string, string?];
  const readPots = (amounts: Readonly<Record<string, number>>): Gains => ({
    short: amounts[first] ?? 0,
    long: second === undefined ? 0 : (amounts[second] ?? 0),
  });
  return { realised: readPots(realised_by_pot), carried: readPots(carried_by_pot) };
}

export function withBalances(tax: AccountTax, { realised, carried }: Balances): AccountTax {
  if (tax.regime === null)
    return {
      ...tax,
      carry_forward: carried.short,
      realised: { short: realised.short, long: realised.long - carried.long },
      realised_by_pot: {},
      carried_by_pot: {},
    };
  const writePots = ({ short, long }: Gains): Record<string, number> =>
    Object.fromEntries(tax.regime!.pots.map(({ pot }, position) => [pot, position === 0 ? short : long]));
  return { ...tax, realised_by_pot: writePots(realised), carried_by_pot: writePots(carried) };
}

export const namePot = ({ pots }: TaxRegime, isSecond: boolean): string => pots[isSecond ? 1 : 0]!.pot;

/** Returns true if dividends belong to the second pot. */
export const isDividendSecond = ({ pots, dividends }: TaxRegime): boolean => pots[1]?.pot === dividends;

/**
 * Returns true for a lot held for more than a number of years. The holding period begins on the day after the purchase,
 * so that a sale is long-term from the same day of the next year.
 * @source Rev. Rul. 66-7
 */
export function isLongTerm(acquired: string, asOf: Day, years = 1): boolean {
  const { year, month, day } = toCivilDate(parseValidDay(acquired) + 1);
  return asOf >= toDay({ year: year + years, month, day });
}

const hasCondition = ({ held_years: years, securities }: TaxPot): boolean =>
  years !== undefined || securities !== undefined;

/** Returns a function that returns true if the gains of a lot on a day belong to the second pot. */
export function createPotReader({
  pots,
}: TaxRegime): (lot: Pick<AccountLot, 'identifier' | 'acquired'>, asOf: Day) => boolean {
  const position = pots.findIndex(hasCondition);
  if (pots.length === 1 || position < 0) return () => false;
  const { held_years: years, securities } = pots[position]!;
  const names = securities === undefined ? undefined : new Set(securities);
  return ({ identifier, acquired }, asOf) => {
    const isInside =
      (names === undefined || names.has(identifier)) && (years === undefined || isLongTerm(acquired, asOf, years));
    return isInside === (position === 1);
  };
}

/**
 * Returns the tax as maxima of linear functions of the gains of the pots, less losses carried forward. If the losses of
 * both pots reduce the gains of the other one and the rates differ, there are two sides: gains of the second pot of at
 * least zero, and of at most zero.
 * @param value  value of the account, in money
 */
export function createTaxSides(tax: AccountTax, value: number): TaxSide[] {
  const regime = readRegime(tax);
  const { short, long } = readRates(regime);
  const { allowance } = regime;
  const lossValue = Math.min(tax.loss_value, long, short);
  const createPiece = (s: number, l: number): TaxPiece => ({ short: s, long: l, constant: 0 });
  const createTaxed = (s: number, l: number): TaxPiece =>
    allowance === 0 ? createPiece(s, l) : { short: s, long: l, constant: -(Math.max(s, l) * allowance) / value };
  const losses = createPiece(lossValue, lossValue);
  const offsets = (position: number): boolean => (regime.pots[position]?.offsets.length ?? 0) > 0;
  const isMutual = regime.pots.length === 1 || (offsets(0) && offsets(1));
  if (!isMutual) {
    const pieces = offsets(0)
      ? [createTaxed(short, lossValue), createTaxed(short, long), createTaxed(long, long)]
      : offsets(1)
        ? [createTaxed(lossValue, long), createTaxed(short, long), createTaxed(short, short)]
        : [createTaxed(short, long), createTaxed(short, lossValue), createTaxed(lossValue, long)];
    return [{ longSign: 0, pieces: [...pieces, losses] }];
  }
  if (short === long) return [{ longSign: 0, pieces: [createTaxed(long, long), losses] }];
  return [
    { longSign: 1, pieces: [createPiece(short, long), createPiece(long, long), losses] },
    { longSign: -1, pieces: [createPiece(short, short), losses] },
  ];
}

/**
 * Returns the losses to carry forward after a year, by pot. Net losses of a pot reduce gains of the other one only if
 * the regime permits it. Where losses of earlier years reduce only gains above the allowance, the rest is kept.
 * @source 26 U.S.C. 1212(b)(1); TCGA 1992, s. 1E; section 20(6) EStG
 */
export function computeCarriedLosses(
  { pots, allowance, carried_losses: order }: TaxRegime,
  gains: Gains,
  carried: Gains,
): Gains {
  if (order === 'after_allowance') {
    const used = Math.min(carried.short, Math.max(0, gains.short - allowance));
    return { short: carried.short - used + Math.max(0, -gains.short), long: 0 };
  }
  const net = { short: gains.short - carried.short, long: gains.long - carried.long };
  const losses = { short: Math.max(0, -net.short), long: Math.max(0, -net.long) };
  const [first, second] = pots;
  return {
    short: first!.offsets.length === 0 ? losses.short : Math.max(0, losses.short - Math.max(0, net.long)),
    long: (second?.offsets.length ?? 0) === 0 ? losses.long : Math.max(0, losses.long - Math.max(0, net.short)),
  };
}

export function findTaxYear({ year_begins: begins }: TaxRegime, day: Day): number {
  const date = formatDay(day);
  return Number(date.slice(0, 4)) - (date.slice(5) < begins ? 1 : 0);
}

/** Lot, or part of a position, as the functions of this module read it. */
interface PooledLot {
  readonly identifier: string;
  readonly shares: number;
  readonly cost: number;
}

/**
 * Joins the lots of each security to a pool at their average cost, at the position of the first one. Shares bought on
 * the day of the trades are not joined if sales of that day are matched with them. The lots of other regimes are not
 * changed.
 * @source TCGA 1992, ss. 104, 105, 110
 */
export function poolLots<Lot extends PooledLot>(
  { lots: method, matching_days: days }: TaxRegime,
  lots: readonly Lot[],
  isToday: (lot: Lot) => boolean,
): readonly Lot[] {
  if (method !== 'pool') return lots;
  const pooled: Lot[] = [];
  const positions = new Map<string, number>();
  for (const lot of lots) {
    const position = days[0] === 0 && isToday(lot) ? undefined : positions.get(lot.identifier);
    if (position !== undefined) {
      const { shares, cost } = pooled[position]!;
      const total = shares + lot.shares;
      pooled[position] = { ...pooled[position]!, shares: total, cost: (shares * cost + lot.shares * lot.cost) / total };
      continue;
    }
    if (!(days[0] === 0 && isToday(lot))) positions.set(lot.identifier, pooled.length);
    pooled.push(lot);
  }
  return pooled.length === lots.length ? lots : pooled;
}

/** Sale of an account, or a part of it, with the shares that the regime matches it with. */
export interface Disposal {
  readonly identifier: string;
  readonly date: string;
  readonly shares: number;
  readonly price: number;
  /** Cost basis per share. */
  readonly cost: number;
  readonly gain: number;
  /** Name of the pot of the gain. */
  readonly pot: string;
  /** Day on which the shares were bought; null for a pool. */
  readonly acquired: string | null;
}

/** Purchase or sale of which some shares are not yet matched. */
interface OpenTrade {
  readonly trade: RecentTrade;
  readonly day: Day;
  left: number;
}

/** Smallest number of shares that is not a rounding error. */
const SHARES_MIN = 1e-9;

interface MatchedShares {
  readonly shares: number;
  readonly cost: number;
  readonly acquired: string | null;
}

interface MatchQuestion {
  readonly regime: TaxRegime;
  readonly asOf: Day;
  addDisposal(sale: RecentTrade, matched: MatchedShares): void;
}

/** Matches the sales of one security in the order of the regime. @returns the lots that remain */
function matchSecurity(trades: readonly OpenTrade[], { regime, asOf, addDisposal }: MatchQuestion): AccountLot[] {
  const isPool = regime.lots === 'pool';
  const today = formatDay(asOf);
  const [purchases, sales] = [true, false].map((isBuy) => trades.filter(({ trade }) => trade.shares > 0 === isBuy));
  for (const days of regime.matching_days)
    for (const sale of sales!)
      for (const purchase of purchases!) {
        const shares = Math.min(sale.left, purchase.left);
        if (!(shares > SHARES_MIN) || purchase.day < sale.day || purchase.day > sale.day + days) continue;
        addDisposal(sale.trade, { shares, cost: purchase.trade.price, acquired: purchase.trade.date });
        sale.left -= shares;
        purchase.left -= shares;
      }
  let lots: AccountLot[] = [];
  for (const open of trades) {
    const { identifier, price, date, shares } = open.trade;
    if (!(open.left > SHARES_MIN)) continue;
    if (shares > 0) {
      lots.push({ identifier, shares: open.left, cost: price, acquired: date });
      lots = [...poolLots(regime, lots, ({ acquired }) => acquired === today)];
      continue;
    }
    if (regime.lots === 'hifo') lots.sort((a, b) => b.cost - a.cost);
    for (const lot of lots.splice(0)) {
      const taken = Math.min(open.left, lot.shares);
      if (taken > SHARES_MIN)
        addDisposal(open.trade, { shares: taken, cost: lot.cost, acquired: isPool ? null : lot.acquired });
      open.left -= taken;
      if (lot.shares - taken > SHARES_MIN) lots.push({ ...lot, shares: lot.shares - taken });
    }
  }
  return lots;
}

export interface MatchedTransactions {
  readonly disposals: readonly Disposal[];
  readonly lots: readonly AccountLot[];
  /** Net gains of the tax year of the day, and losses carried forward to it. */
  readonly balances: Balances;
  /** Sales of more shares than the account held, with the shares that it lacked. */
  readonly uncovered: readonly Pick<RecentTrade, 'identifier' | 'date' | 'shares'>[];
}

/**
 * Matches the sales of an account with purchases in the order of its regime: shares bought within the matching days,
 * then lots or the pool. Purchases of a day come before its sales.
 * @source TCGA 1992, ss. 105, 106A; section 20(4) sentence 7 EStG
 */
export function matchTransactions(
  { transactions, tax }: Pick<Account, 'transactions' | 'tax'>,
  asOf: Day,
): MatchedTransactions {
  const regime = readRegime(tax);
  const isSecond = createPotReader(regime);
  const byName = new Map<string, OpenTrade[]>();
  for (const trade of transactions) {
    const own = byName.get(trade.identifier);
    const open = { trade, day: parseValidDay(trade.date), left: Math.abs(trade.shares) };
    if (own === undefined) byName.set(trade.identifier, [open]);
    else own.push(open);
  }
  const disposals: Disposal[] = [];
  const addDisposal: MatchQuestion['addDisposal'] = ({ identifier, date, price }, { shares, cost, acquired }) => {
    const pot = namePot(regime, isSecond({ identifier, acquired: acquired ?? date }, parseValidDay(date)));
    disposals.push({ identifier, date, shares, price, cost, gain: shares * (price - cost), pot, acquired });
  };
  const ordered = [...byName.values()].map((trades) =>
    trades.toSorted((a, b) => a.day - b.day || Number(b.trade.shares > 0) - Number(a.trade.shares > 0)),
  );
  const lots = ordered.flatMap((trades) => matchSecurity(trades, { regime, asOf, addDisposal }));
  const uncovered = ordered.flatMap((trades) =>
    trades.flatMap(({ trade: { identifier, date, shares }, left }) =>
      shares < 0 && left > SHARES_MIN ? [{ identifier, date, shares: left }] : [],
    ),
  );
  disposals.sort((a, b) => (a.date < b.date ? -1 : a.date > b.date ? 1 : 0));
  return {
    disposals,
    lots,
    balances: sumYears(),
    uncovered,
  };

  /** Carries the losses of each tax year to the next one. */
  function sumYears(): MatchedTransactions['balances'] {
    const years = disposals.map(({ date }) => findTaxYear(regime, parseValidDay(date)));
    const last = findTaxYear(regime, asOf);
    let carried: Gains = readBalances(tax).carried;
    let realised: Gains = { short: 0, long: 0 };
    for (const year of [...new Set([...years, last])].toSorted((a, b) => a - b)) {
      const sums = { short: 0, long: 0 };
      disposals.forEach(({ gain, pot }, i) => {
        if (years[i] === year) sums[pot === namePot(regime, false) ? 'short' : 'long'] += gain;
      });
      realised = sums;
      if (year < last) carried = computeCarriedLosses(regime, sums, carried);
    }
    return { realised, carried };
  }
}

/**
 * Returns an account with the lots, recent sales and gains that follow from its transactions. The transactions stay,
 * and are read only once.
 */
export function applyTransactions(account: Account, asOf: Day): Account {
  const { transactions, tax } = account;
  if (transactions.length === 0) return account;
  const { lots, balances } = matchTransactions(account, asOf);
  const days = readMatchingDays(readRegime(tax));
  const recent = transactions.filter(({ shares, date }) => shares < 0 && asOf - parseValidDay(date) <= days);
  return { ...account, lots: [...lots], recent, tax: withBalances(tax, balances) };
}

/** Fields of the tax that a regime replaces, with their defaults. */
const REPLACED = {
  short_rate: 0.37,
  long_rate: 0.2,
  carry_forward: 0,
  wash_sale_days: 30,
  lot_method: 'specific',
  netting: 'us',
} as const;

/** Checks the tax of an account. @returns errors, with paths within the account */
export function checkTax(account: Account, asOf: Day): Finding[] {
  const { tax, transactions } = account;
  const findings: Finding[] = [];
  const addError: AddError = (path, message, value, code = 'OUT_OF_RANGE') =>
    void findings.push({ severity: 'error', code, path, message: `${path}: ${message}`, value });
  if (tax.regime !== null) {
    checkPots(tax.regime, addError);
    checkRegimeTerms(tax.regime, account, addError);
  } else if (tax.long_rate > tax.short_rate) {
    const message = `${tax.long_rate} is above short_rate ${tax.short_rate}; it must be at most that.`;
    addError('tax.long_rate', message, tax.long_rate);
  }
  checkBalances(tax, addError);
  if (transactions.length > 0 && findings.length === 0) checkTransactions(account, asOf, addError);
  return findings;
}

type AddError = (path: string, message: string, value?: unknown, code?: Finding['code']) => void;

function checkPots({ pots, allowance, surcharge, carried_losses: order }: TaxRegime, addError: AddError): void {
  const [first, second] = pots as [TaxPot, TaxPot?];
  pots.forEach(({ offsets }, position) => {
    const other = pots[1 - position]?.pot;
    for (const name of offsets)
      if (name !== other)
        addError(
          `tax.regime.pots[${position}].offsets`,
          `${name} is not the other pot${other === undefined ? '' : `, ${other}`}.`,
          name,
          'NOT_IN_CHOICES',
        );
  });
  const stated = pots.filter(hasCondition).length;
  if (second === undefined) {
    if (stated > 0)
      addError('tax.regime.pots[0]', 'a single pot contains all gains; it has no held_years or securities.');
    return;
  }
  if (first.pot === second.pot)
    addError('tax.regime.pots[1].pot', `${second.pot} is the name of both pots.`, second.pot, 'DUPLICATE_ID');
  if (stated !== 1)
    addError(
      'tax.regime.pots',
      `${stated} of 2 pots state held_years or securities; exactly one must, the other one contains the rest.`,
    );
  if (order === 'after_allowance')
    addError('tax.regime.carried_losses', 'after_allowance is possible only with a single pot; there are 2.', order);
  const [a, b] = [first.offsets.length > 0, second.offsets.length > 0];
  const state = `the rates are ${first.rate} and ${second.rate}`;
  if (allowance > 0 && first.rate !== second.rate)
    addError('tax.regime.allowance', `${allowance} needs equal rates of both pots; ${state}.`, allowance);
  if (a === b && a && second.rate > first.rate)
    addError(
      'tax.regime.pots[1].rate',
      `${state}; that of the second pot must be at most that of the first.`,
      second.rate,
    );
  if (a !== b && (a ? first.rate < second.rate : second.rate < first.rate))
    addError(
      'tax.regime.pots',
      `${state}; a pot whose losses reduce the gains of the other one has at least its rate.`,
    );
  if (Math.max(first.rate, second.rate) * (1 + surcharge) > 1)
    addError('tax.regime.surcharge', `${surcharge} raises a rate above 1; ${state}.`, surcharge);
}

function checkRegimeTerms(regime: TaxRegime, { tax, substitutes }: Account, addError: AddError): void {
  const { pots, lots, matching_days: days, wash_sale: rule, allowance, dividends } = regime;
  for (const [name, value] of Object.entries(REPLACED)) {
    const own = tax[name as keyof typeof REPLACED];
    if (own !== value)
      addError(`tax.${name}`, `${own} has no effect: the rules are those of tax.regime.`, own, 'NO_EFFECT');
  }
  const { short, long } = tax.realised;
  if (short !== 0 || long !== 0)
    addError(
      'tax.realised',
      `${short} and ${long} belong to no pot; state realised_by_pot.`,
      tax.realised,
      'NO_EFFECT',
    );
  if (lots === 'pool' && pots.some(({ held_years: years }) => years !== undefined))
    addError('tax.regime.lots', 'a pool has no holding period, which held_years of a pot needs.', lots);
  if (lots === 'pool' && rule !== null)
    addError('tax.regime.wash_sale', `the window of ${rule.days} days needs lots; the regime has a pool.`, rule);
  if (days.some((day, position) => position > 0 && day <= days[position - 1]!))
    addError('tax.regime.matching_days', `${days.join(', ')} do not rise.`, days);
  if (allowance > 0 && tax.loss_value > 0)
    addError('tax.loss_value', `${tax.loss_value} must be 0 with an allowance of ${allowance}.`, tax.loss_value);
  if (dividends !== null && !pots.some(({ pot }) => pot === dividends))
    addError(
      'tax.regime.dividends',
      `${dividends} is not a pot: ${pots.map(({ pot }) => pot).join(', ')}.`,
      dividends,
      'NOT_IN_CHOICES',
    );
  if (rule === null && substitutes.length > 0)
    addError('substitutes', 'they have no effect: tax.regime has no wash_sale.', undefined, 'NO_EFFECT');
}

function checkBalances(tax: AccountTax, addError: AddError): void {
  const names = readRegime(tax).pots.map(({ pot }) => pot);
  for (const field of ['realised_by_pot', 'carried_by_pot'] as const)
    for (const pot of Object.keys(tax[field]))
      if (!names.includes(pot))
        addError(`tax.${field}.${pot}`, `${pot} is not a pot: ${names.join(', ')}.`, pot, 'NOT_IN_CHOICES');
  const { realised, carry_forward: carried } = tax;
  if (tax.regime !== null || !hasBalances(tax)) return;
  if (realised.short !== 0 || realised.long !== 0 || carried !== 0)
    addError(
      'tax.realised',
      `amounts by pot replace realised (${realised.short}, ${realised.long}) and carry_forward (${carried}); state only one of both.`,
      realised,
      'NO_EFFECT',
    );
}

function checkTransactions(account: Account, asOf: Day, addError: AddError): void {
  const { tax, lots, recent } = account;
  const { regime } = tax;
  if (regime === null || regime.wash_sale !== null || regime.lots === 'specific')
    return addError(
      'transactions',
      'they need a tax.regime without wash_sale and with lots other than specific: the lots of their sales are not known.',
      regime?.lots ?? null,
    );
  const others = [lots.length > 0 && 'lots', recent.length > 0 && 'recent'].filter(Boolean);
  if (Object.keys(tax.realised_by_pot).length > 0) others.push('tax.realised_by_pot');
  if (others.length > 0)
    addError('transactions', `they determine ${others.join(' and ')}; state only one of both.`, undefined, 'NO_EFFECT');
  for (const { identifier, date, shares } of matchTransactions(account, asOf).uncovered)
    addError('transactions', `${shares} shares of ${identifier} sold on ${date} were not bought.`, shares);
}
