import type { AccountProgram } from '#kernels/lots/account-program.js';
import { computeProofBound, type BranchProof } from '#kernels/lots/branch-proof.js';
import { computePricesAt } from '#kernels/lots/candidate.js';
import { computeDualBound } from '#kernels/lots/dual-bound.js';
import type { Multipliers } from '#kernels/lots/relaxation.js';
import { findLeastBound, type SideCertificate } from '#kernels/lots/side-certificate.js';
import { computeFigures, type AccountTrades } from '#kernels/lots/trade-figures.js';
import { parseValidDay } from '../time/days.js';
import type { Account } from './account-request.js';
import { createAccountResult } from './account-result.js';
import type { BatchCommon } from './batch-common.js';
import { reportBrokenRules, TOLERANCE } from './broken-rules.js';
import { buildAccount, type BuiltAccount } from './build-account.js';
import { compareResults, reportConflictFaults } from './compare-results.js';
import { listLotsAfter } from './lots-after.js';
import { divideRegion, isRegionCut, WHOLE_REGION, type RegionCut } from './sale-regions.js';
import { buildAtTrades, findProhibited, type ProvedRegion } from './search-regions.js';
import { splitSoldShares } from './sold-shares.js';
import type { SolvedResult } from './solve-accounts.js';

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
  const figures = computeFigures(base.program, trades);
  if (!isInfeasible) {
    wrong.push(...reportForcedSales(base, read.sold), ...reportBrokenRules(common, base, trades));
    for (const [lot, weight] of left) if (weight > TOLERANCE) wrong.push(`lot ${lot} may not be sold`);
    if (!(figures.worst <= VIOLATION_MAX)) wrong.push(`a hard row is violated by ${figures.worst}`);
    wrong.push(...reportProhibited(common, base, trades, read.sold));
  }
  const proof = readProof(common, whole, { result, wrong });
  if (proof.certificates.length === 0) return [...wrong, 'the result has no certificate'];
  const bound = findLeastBound(proof.certificates);
  if (!isInfeasible && !(figures.objective - bound >= -TOLERANCE))
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
  const lots_after = listLotsAfter(common, base, computed);
  wrong.push(...compareResults({ ...computed, lots_after }, result, base.value));
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
    if (shares > account.lots[lot]!.shares * (1 + TOLERANCE)) wrong.push(`trades: more than lot ${lot} is sold`);
  return { bought, sold };
}

/** Reports lots of excluded securities that are not sold whole. */
function reportForcedSales({ account, excluded }: BuiltAccount, sold: ReadonlyMap<number, number>): string[] {
  return account.lots.flatMap(({ identifier, shares }, lot) =>
    excluded.has(identifier) && !(Math.abs((sold.get(lot) ?? 0) - shares) <= TOLERANCE * shares)
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

/** Computes the bound that the certificate of a side proves. */
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
  if (!(Math.abs(stated.bound - proof.bound - forcedCost) <= TOLERANCE))
    wrong.push(`side ${stated.side}: the branches prove ${proof.bound + forcedCost}, not ${stated.bound}`);
  return { side: stated.side, multipliers, bound, proof };
}

/** Returns the certificate whose multipliers are the stated prices of gains and rows. */
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

interface StatedMultipliers {
  readonly exposures: readonly number[];
  readonly variance: number;
  readonly rows: readonly number[];
}

const readMultipliers = ({ exposures, variance, rows }: StatedMultipliers): Multipliers => ({
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
