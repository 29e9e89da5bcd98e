import type { AccountProgram } from '#kernels/lots/account-program.js';
import {
  type BranchProof,
  computeProofBound,
  findLeastBound,
  type SideCertificate,
} from '#kernels/lots/branch-proof.js';
import { computeDualBound } from '#kernels/lots/dual-bound.js';
import type { Multipliers } from '#kernels/lots/relaxation.js';
import { type AccountTrades, computeTradeFigures, computePricesAt } from '#kernels/lots/trade-figures.js';
import { parseValidDay } from '../base/time.js';
import { completeResult, createAccountResult, DEVIATIONS_SHOWN, type SolvedResult } from './account-result.js';
import {
  buildAccount,
  buildAtTrades,
  type BuiltAccount,
  findProhibited,
  type ProvedRegion,
  reportBrokenRules,
  splitSoldShares,
  ACCOUNT_TOLERANCE as ACCOUNT_SOLVE_TOLERANCE,
} from './account-solve.js';
import type { Account } from './account.js';
import type { BatchCommon } from './batch.js';
import { divideRegion, isRegionCut, type RegionCut, WHOLE_REGION } from './lots.js';

/** Maximum relative difference of computed and stated numbers that is a rounding error. */
const TOLERANCE = 1e-9;
/** Tolerance of figures that are sensitive to rounding errors: roots, and prices from multipliers. */
const ROOT_TOLERANCE = 1e-7;
/** Tolerance of shares of the variance, and tracking error below which they are rounding errors. */
const SHARE_TOLERANCE = 1e-6;
/** Members that only the solver determines. */
const NOT_COMPUTED = new Set(['steps', 'nodes', 'conflicts', 'conflict_amounts', 'conflict_exclusions']);
/** Members whose numbers are fractions of the account value. */
const FRACTIONS = new Set(['certificate', 'weights']);

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/**
 * Compares the computed members of a result with those that are stated.
 * @param value  value of the account
 * @returns a sentence for each difference, which names the member
 */
function compareResults(computed: SolvedResult, stated: SolvedResult, value: number): string[] {
  const differences: string[] = [];
  const { deviations: _, ...members } = JSON.parse(JSON.stringify(computed)) as { readonly [key: string]: Json };
  const others = stated as unknown as { readonly [key: string]: Json };
  for (const [name, own] of Object.entries(members))
    if (!NOT_COMPUTED.has(name)) compare(name, own, others[name], createTolerance(name, value));
  compareDeviations(computed.deviations, stated.deviations);
  for (const name of ['steps', 'nodes'] as const)
    if (!(Number.isInteger(stated[name]) && stated[name] >= 0)) report(name, 'a number of at least 0', stated[name]);
  return differences;

  function report(path: string, own: unknown, other: unknown): void {
    differences.push(`${path}: ${format(other)} is stated, ${format(own)} is computed`);
  }

  function compare(path: string, own: Json | undefined, other: Json | undefined, isClose: CloseTest): void {
    if (typeof own === 'number') {
      if (typeof other !== 'number' || !isClose(path, own, other)) report(path, own, other);
    } else if (Array.isArray(own)) {
      if (!Array.isArray(other) || other.length !== own.length)
        return report(path, `${own.length} entries`, Array.isArray(other) ? `${other.length} entries` : other);
      own.forEach((entry, position) =>
        compare(`${path}[${position}]`, entry as Json, other[position] as Json, isClose),
      );
    } else if (typeof own === 'object' && own !== null) {
      if (typeof other !== 'object' || other === null || Array.isArray(other)) return report(path, 'an object', other);
      const [ownMembers, otherMembers] = [own, other] as readonly { readonly [key: string]: Json }[];
      for (const key of new Set([...Object.keys(ownMembers!), ...Object.keys(otherMembers!)])) {
        // Weights and prices that are rounding errors may be absent.
        const isNumber =
          typeof (ownMembers![key] ?? otherMembers![key]) === 'number' && /^(weights|shadow)/u.test(path);
        const [a, b] = [ownMembers![key], otherMembers![key]].map((x) => x ?? (isNumber ? 0 : x));
        compare(`${path}.${key}`, a, b, isClose);
      }
    } else if (own !== other) report(path, own, other);
  }

  function compareDeviations(own: SolvedResult['deviations'], other: SolvedResult['deviations'] | undefined): void {
    if (other === undefined) return report('deviations', 'a list', other);
    compare('deviations.tilts', own.tilts, other.tilts, (_, a, b) => a === b);
    // Without a tracking error, shares of its variance are rounding errors.
    const isFlat = computed.tracking_error <= SHARE_TOLERANCE;
    const isClose: CloseTest = (_path, a, b) => Math.abs(a - b) <= SHARE_TOLERANCE;
    const isShareClose: CloseTest = (path, a, b) => isFlat || isClose(path, a, b);
    for (const reason of new Set([...Object.keys(own.variance_by_reason), ...Object.keys(other.variance_by_reason)]))
      compare(
        `deviations.variance_by_reason.${reason}`,
        own.variance_by_reason[reason] ?? 0,
        other.variance_by_reason[reason] ?? 0,
        isShareClose,
      );
    const ownByName = new Map(own.largest.map((entry) => [entry.identifier, entry]));
    if (own.largest.length !== other.largest.length)
      report('deviations.largest', `${own.largest.length} entries`, `${other.largest.length} entries`);
    for (const [position, entry] of other.largest.entries()) {
      const path = `deviations.largest[${position}]`;
      const same = ownByName.get(entry.identifier);
      if (same === undefined) {
        const least = Math.min(...own.largest.map((deviation) => Math.abs(deviation.variance_share)));
        const isTie = Math.abs(least - Math.abs(entry.variance_share)) <= SHARE_TOLERANCE;
        if (own.largest.length < DEVIATIONS_SHOWN || !(isTie || isFlat)) report(path, 'a larger one', entry.identifier);
        continue;
      }
      compare(`${path}.active_weight`, same.active_weight, entry.active_weight, isClose);
      compare(`${path}.variance_share`, same.variance_share, entry.variance_share, isShareClose);
      if (!isFlat && Math.abs(same.variance_share) > SHARE_TOLERANCE)
        compare(`${path}.reason`, same.reason, entry.reason, isClose);
    }
  }
}

type CloseTest = (path: string, own: number, other: number) => boolean;

const format = (value: unknown): string =>
  value === undefined ? 'nothing' : typeof value === 'object' ? JSON.stringify(value) : String(value);

/** Returns the test of equality of the numbers of a member. */
function createTolerance(name: string, value: number): CloseTest {
  const isRoot = name.startsWith('tracking_error');
  const isPrice = name === 'shadow_prices' || name === 'one_more_bp_saves';
  return (path, own, other) => {
    const isUnit = FRACTIONS.has(name) || /\.(shares|price|cost|lot|short_gain|long_gain)$/u.test(path);
    const scale =
      isUnit || isRoot ? Math.max(1, FRACTIONS.has(name) ? 1 : Math.abs(own)) : Math.max(value, Math.abs(own));
    return Math.abs(own - other) <= (isRoot || isPrice ? ROOT_TOLERANCE : TOLERANCE) * scale;
  };
}

/** Reports conflicts that contradict each other or the account. Whether they are complete depends on the solver. */
function reportConflictFaults({ exclusions }: Account, stated: SolvedResult): string[] {
  const { status, conflicts, conflict_amounts: amounts, conflict_exclusions: kept } = stated;
  if (status !== 'infeasible') {
    return Object.entries({ conflicts, conflict_amounts: amounts, conflict_exclusions: kept }).flatMap(([name, own]) =>
      typeof own === 'object' && own !== null && Object.keys(own).length === 0
        ? []
        : [`${name}: a result with trades has no conflicts, and ${format(own)} is stated`],
    );
  }
  const faults: string[] = [];
  const names = Object.keys(amounts ?? {});
  if (!Array.isArray(conflicts) || conflicts.length === 0)
    faults.push('conflicts: an infeasible account has no conflict');
  else if (names.length !== conflicts.length || !names.every((name) => conflicts.includes(name)))
    faults.push('conflict_amounts: the rules are not those of conflicts');
  for (const [rule, amount] of Object.entries(amounts ?? {}))
    if (amount !== null && !(amount > 0)) faults.push(`conflict_amounts.${rule}: ${amount} is not positive`);
  const weights = Object.entries(kept ?? {});
  for (const [name, weight] of weights)
    if (!exclusions.includes(name) || !(weight > 0)) faults.push(`conflict_exclusions.${name}: ${weight} is not kept`);
  const sum = weights.reduce((total, [, weight]) => total + weight, 0);
  if (kept === undefined || Math.abs(sum - (amounts?.['exclusions'] ?? 0)) > SHARE_TOLERANCE)
    faults.push(`conflict_exclusions: ${sum} is stated, conflict_amounts states ${amounts?.['exclusions'] ?? 0}`);
  return faults;
}

/** Maximum violation of a row without a penalty that counts as a rounding error. */
const VIOLATION_MAX = 1e-7;
/** Divisions of a result without regions. */
const UNDIVIDED = [{ undivided: true }] as const;

/**
 * Verifies a result without the solver. Trades must use lots of the account and obey its rules. All figures are computed
 * again from the trades and the multipliers. No permitted trades may have an objective below the bound from the
 * multipliers.
 * @returns errors as sentences; empty if the result is verified
 */
export function verifyResult(common: BatchCommon, account: Account, result: SolvedResult): string[] {
  const whole = buildAccount(common, account);
  const wrong: string[] = [];
  const isInfeasible = result.status === 'infeasible';
  const read = readShares(common, whole, { result, wrong });
  if (wrong.length > 0) return wrong;
  const known = { window: whole.window, sold: read.sold, links: whole.links };
  const base = isInfeasible ? whole : buildAtTrades(common, account, known);
  const { sold, left } = splitSoldShares(base, read.sold);
  const trades = { bought: read.bought, sold };
  const figures = computeTradeFigures(base.program, trades);
  if (!isInfeasible) {
    wrong.push(...reportForcedSales(base, read.sold), ...reportBrokenRules(common, base, trades));
    for (const [lot, weight] of left) if (weight > ACCOUNT_SOLVE_TOLERANCE) wrong.push(`lot ${lot} may not be sold`);
    if (!(figures.worst <= VIOLATION_MAX)) wrong.push(`a hard row is violated by ${figures.worst}`);
    wrong.push(...reportProhibited(common, base, trades, read.sold));
  }
  const proof = readProof(common, whole, { result, wrong });
  if (proof.certificates.length === 0) return [...wrong, 'the result has no certificate'];
  const bound = findLeastBound(proof.certificates);
  if (!isInfeasible && !(figures.objective - bound >= -ACCOUNT_SOLVE_TOLERANCE))
    wrong.push(`the bound ${bound} is above the objective ${figures.objective}`);
  const certificateIndex = findPricedSide(base, proof.certificates, result);
  const answer = {
    status: isInfeasible ? ('infeasible' as const) : ('optimal' as const),
    trades,
    figures,
    certificates: proof.certificates,
    bound,
    certificateIndex,
    steps: result.steps,
    nodes: result.nodes,
  };
  const computed = createAccountResult(common, { base, answer, tree: proof }, []);
  wrong.push(...compareResults(completeResult(common, base, computed), result, base.value));
  wrong.push(...reportConflictFaults(account, result));
  return wrong;
}

interface ResultRead {
  readonly result: SolvedResult;
  /** Errors, to which others are added. */
  readonly wrong: string[];
}

/** Reads the trades of a result as shares of its lots and weights of its purchases. */
function readShares(common: BatchCommon, base: BuiltAccount, { result, wrong }: ResultRead) {
  const { program, value, names, account } = base;
  const bought = new Float64Array(program.n);
  const sold = new Map<number, number>();
  if (result.status === 'infeasible' && result.trades.length > 0) wrong.push('an infeasible account has trades');
  const positionByIdentifier = new Map(names.map((name, i) => [common.identifiers[name]!, i]));
  result.trades.forEach(({ identifier, side, shares, price, lot = -1 }, position) => {
    const i = positionByIdentifier.get(identifier);
    const path = `trades[${position}]`;
    if (i === undefined) return void wrong.push(`${path}.identifier: ${identifier} is not a security of the account`);
    if (!(shares > 0)) return void wrong.push(`${path}.shares: ${shares} is not a positive number`);
    const ownPrice = common.prices[names[i]!]!;
    if (price !== ownPrice) wrong.push(`${path}.price: ${price} is stated, ${ownPrice} is the price of ${identifier}`);
    if (side === 'buy') bought[i]! += (shares * ownPrice) / value;
    else if (side !== 'sell') wrong.push(`${path}.side: ${String(side)} is neither buy nor sell`);
    else if (account.lots[lot]?.identifier === identifier) sold.set(lot, (sold.get(lot) ?? 0) + shares);
    else wrong.push(`${path}.lot: ${lot} is not a lot of ${identifier}`);
  });
  for (const [lot, shares] of sold)
    if (shares > account.lots[lot]!.shares * (1 + ACCOUNT_SOLVE_TOLERANCE))
      wrong.push(`trades: more than lot ${lot} is sold`);
  return { bought, sold };
}

/** Reports lots of excluded securities that are not sold whole. */
function reportForcedSales({ account, excluded }: BuiltAccount, sold: ReadonlyMap<number, number>): string[] {
  return account.lots.flatMap(({ identifier, shares }, lot) =>
    excluded.has(identifier) && !(Math.abs((sold.get(lot) ?? 0) - shares) <= ACCOUNT_SOLVE_TOLERANCE * shares)
      ? [`lot ${lot} of ${identifier} is excluded and not sold whole`]
      : [],
  );
}

/** Reports purchases and sales that the wash sale rule does not permit. */
function reportProhibited(
  common: BatchCommon,
  base: BuiltAccount,
  trades: AccountTrades,
  sold: ReadonlyMap<number, number>,
): string[] {
  const { brokenGroup, forbidden } = findProhibited(common, base, { trades, sold });
  return [
    ...(brokenGroup < 0 ? [] : [`substitutes[${brokenGroup}]: a security is bought while another is sold at a loss`]),
    ...forbidden.map(({ sold: lot }) => `lot ${lot} is sold at a loss that is disallowed, which the account forbids`),
  ];
}

/** Reads the regions and certificates of a result, with the bounds that they prove. */
function readProof(common: BatchCommon, whole: BuiltAccount, { result, wrong }: ResultRead) {
  const { account, window, links, forcedCost } = whole;
  const { sides } = result.certificate;
  const cuts = (result.certificate.regions ?? UNDIVIDED).map((step): RegionCut | null =>
    'undivided' in step ? null : step,
  );
  const regions: ProvedRegion[] = [];
  const openRegions = [WHOLE_REGION];
  for (const cut of cuts) {
    const region = openRegions.pop();
    if (region === undefined || (cut !== null && !isRegionCut(account, links, cut, common.terms.whole_shares))) {
      wrong.push('certificate.regions: the divisions do not contain all permitted trades');
      return { cuts, regions, certificates: [] };
    }
    if (cut !== null) {
      const [first, second] = divideRegion(region, cut);
      openRegions.push(second, first);
      continue;
    }
    const { program, isEmpty } = buildAccount(common, account, window, region);
    const own = sides.filter((side) => (side.region ?? 0) === regions.length);
    const certificates = own.map((stated) => readSide(program, stated, { forcedCost, wrong }));
    const isTwice = new Set(own.map(({ side }) => side)).size < own.length;
    if (isTwice) wrong.push(`certificate.sides: region ${regions.length} has two certificates of a side`);
    if (!isEmpty)
      program.sides.forEach(({ longSign }, side) => {
        if (!own.some((stated) => stated.side === side) && !isImpossible(program, longSign))
          wrong.push(`certificate.sides: side ${side} of the tax has no certificate in region ${regions.length}`);
      });
    regions.push({ program, certificates: certificates.flatMap((certificate) => certificate ?? []) });
  }
  if (openRegions.length > 0) wrong.push('certificate.regions: the divisions do not contain all permitted trades');
  return { cuts, regions, certificates: regions.flatMap(({ certificates }) => certificates) };
}

type StatedSide = SolvedResult['certificate']['sides'][number];

function readSide(
  program: AccountProgram,
  stated: StatedSide,
  { forcedCost, wrong }: { readonly forcedCost: number; readonly wrong: string[] },
): SideCertificate | undefined {
  const side = program.sides[stated.side];
  if (side === undefined) return void wrong.push(`certificate.sides: the tax has no side ${stated.side}`);
  const multipliers = readMultipliers(stated);
  const { bound } = computeDualBound(program, side, multipliers);
  if (stated.branches == null) return { side: stated.side, multipliers, bound };
  const parts = {
    steps: stated.branches.steps.map((step) => ('evaluated' in step ? ('evaluated' as const) : step)),
    multipliers: stated.branches.multipliers.map(readMultipliers),
  };
  const proved = computeProofBound(program, side, parts);
  if (proved === undefined) wrong.push(`side ${stated.side}: the branches do not contain all permitted trades`);
  const proof: BranchProof = { ...parts, bound: proved ?? -Infinity };
  if (!(Math.abs(stated.bound - proof.bound - forcedCost) <= ACCOUNT_SOLVE_TOLERANCE))
    wrong.push(`side ${stated.side}: the branches prove ${proof.bound + forcedCost}, not ${stated.bound}`);
  return { side: stated.side, multipliers, bound, proof };
}

function findPricedSide(
  { program, value, rowIds }: BuiltAccount,
  certificates: readonly SideCertificate[],
  { shadow_prices: stated }: SolvedResult,
): number {
  const distances = certificates.map(({ side, multipliers }) => {
    const prices = computePricesAt(program, program.sides[side]!, multipliers);
    const rows = rowIds.map((id, j) => Math.abs(multipliers.rows[j]! - (stated?.rows?.[id] ?? 0) / value));
    return Math.abs(prices.short - stated?.short_gain) + Math.abs(prices.long - stated?.long_gain) + Math.max(...rows);
  });
  return Math.max(0, distances.indexOf(Math.min(...distances)));
}

const readMultipliers = ({
  exposures,
  variance,
  rows,
}: {
  readonly exposures: readonly number[];
  readonly variance: number;
  readonly rows: readonly number[];
}): Multipliers => ({
  exposures: Float64Array.from(exposures),
  variance,
  rows: Float64Array.from(rows),
});

/** Returns true if no permitted trades have nonzero long-term gains of this sign. */
function isImpossible({ fixedLong, lotSize, lotLong }: AccountProgram, longSign: number): boolean {
  let [lowest, highest] = [fixedLong, fixedLong];
  lotSize.forEach((size, l) => {
    const gain = size * lotLong[l]!;
    if (gain < 0) lowest += gain;
    else highest += gain;
  });
  return longSign > 0 ? highest <= 0 : lowest >= 0;
}

/** Common data of a batch as served. */
export interface CommonJson {
  readonly terms: BatchCommon['terms'];
  readonly as_of: string;
  readonly identifiers: readonly string[];
  readonly prices: readonly number[];
  readonly weights: readonly number[];
  readonly factors: number;
  readonly loadings: readonly number[];
  readonly specific: readonly number[];
  readonly groups: BatchCommon['groups'];
}

export function readCommon(json: CommonJson): BatchCommon {
  return {
    ...json,
    asOf: parseValidDay(json.as_of),
    prices: Float64Array.from(json.prices),
    weights: Float64Array.from(json.weights),
    loadings: Float64Array.from(json.loadings),
    specific: Float64Array.from(json.specific),
  };
}
