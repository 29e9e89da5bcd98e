import type { AccountProgram } from '#kernels/lots/account-program.js';
import { computeDualBound } from '#kernels/lots/dual-bound.js';
import { findLeastBound, type SideCertificate } from '#kernels/lots/side-certificate.js';
import type { AccountSolution } from '#kernels/lots/solve-account.js';
import {
  computeFigures,
  computeMerit,
  VIOLATION_MAX,
  type AccountTrades,
  type TradeFigures,
} from '#kernels/lots/trade-figures.js';
import type { Account } from './account-request.js';
import type { BatchCommon } from './batch-common.js';
import { buildAccount, type BuiltAccount } from './build-account.js';
import { reportBrokenRules } from './broken-rules.js';
import { divideRegion, WHOLE_REGION, type RegionCut, type SaleRegion } from './sale-regions.js';
import { listSoldShares, splitSoldShares, TRADE_MIN } from './sold-shares.js';
import { computeTaxedSales } from './taxed-sales.js';
import type { Replacement, WashWindow } from './wash-sales.js';

/** Gap at which a region is not divided further, as a fraction of the account value. */
const GAP_TOLERANCE = 1e-9;
/** Maximum number of regions that are solved, and the number of securities, lots and regions that are solved at most. */
const REGIONS_MAX = 240;
const REGIONS_MIN = 12;
const SIZE_MAX = 24_000;
/** Smallest difference of shares that divides a region. */
const SHARES_MIN = 1e-7;
/** Smallest part of a range at which it is divided at the trades of the solution; otherwise it is halved. */
const PART_MIN = 0.05;
/** Factors of the multipliers of rows that may prove that a region has no permitted trades. */
const PROOF_FACTORS = [1e2, 1e4, 1e6] as const;

/** Region that is not divided, with the proof of its bound. */
export interface ProvedRegion {
  readonly program: AccountProgram;
  readonly certificates: readonly SideCertificate[];
}

/** Regions that contain all permitted trades, in the order of their division. Empty regions have no proof. */
export interface RegionTree {
  readonly cuts: readonly (RegionCut | null)[];
  readonly regions: readonly ProvedRegion[];
}

export interface SearchedAccount {
  /** Account with the gains of the trades. */
  readonly base: BuiltAccount;
  readonly answer: AccountSolution;
  readonly tree: RegionTree;
}

export interface SearchQuestion {
  readonly common: BatchCommon;
  readonly account: Account;
  readonly window: WashWindow;
  /** Changes the program of a region, such as its rows. */
  adapt(program: AccountProgram): AccountProgram;
  solve(program: AccountProgram): AccountSolution;
}

interface Node {
  readonly region: SaleRegion;
  readonly built: BuiltAccount;
  /** Null for a region without permitted trades. */
  readonly solved: { readonly program: AccountProgram; readonly answer: AccountSolution } | null;
  readonly certificates: readonly SideCertificate[];
  readonly bound: number;
  split: { readonly cut: RegionCut; readonly parts: readonly [Node, Node] } | null;
}

/** Trades of a region with their gains by the wash sale rule. */
interface Evaluation {
  readonly built: BuiltAccount;
  readonly trades: AccountTrades;
  readonly figures: TradeFigures;
  /** Number of shares sold, by lot. */
  readonly sold: ReadonlyMap<number, number>;
  readonly merit: number;
  readonly isPermitted: boolean;
  /** Group of substitutes of which one is bought and another one sold at a loss. */
  readonly brokenGroup: number;
  /** Lots that replace shares whose loss must not be disallowed. */
  readonly replacing: readonly number[];
}

/**
 * Solves an account whose sales affect each other under the wash sale rule. A region is solved with the least gains that
 * its trades may have; if those of the solution are higher, or it is not permitted, the region is divided. Regions are
 * divided in the order of their bounds.
 *
 * @cost one solution per region
 * @source R. Horst and H. Tuy, Global Optimization, 3rd ed., 1996, chapter IV
 */
export function searchRegions(question: SearchQuestion): SearchedAccount {
  const root = openRegion(question, WHOLE_REGION, null);
  const found: { best?: Found } = {};
  const consider = (node: Node): Evaluation => {
    const evaluation = evaluateTrades(question, node);
    if (evaluation.isPermitted && !(evaluation.merit >= (found.best?.evaluation.merit ?? Infinity)))
      found.best = { evaluation, node };
    return evaluation;
  };
  const openNodes = [root];
  const { program, links } = root.built;
  if (!isDivisible(root.built)) return createUndivided(root);
  const regionsMax = Math.max(REGIONS_MIN, Math.min(REGIONS_MAX, SIZE_MAX / (program.n + program.lotSize.length)));
  let steps = 0;
  let nodes = 0;
  for (let count = 1; count < regionsMax;) {
    const node = openNodes.shift();
    if (node?.solved == null || node.bound > (found.best?.evaluation.merit ?? Infinity) - GAP_TOLERANCE) break;
    steps += node.solved.answer.steps;
    nodes += node.solved.answer.nodes;
    const evaluation = consider(node);
    if (evaluation.isPermitted && evaluation.merit - computeMerit(node.solved.answer.figures) <= GAP_TOLERANCE)
      continue;
    if (node === root && (links.coupled.size > 0 || links.keys.length > 0)) {
      const region = { ...WHOLE_REGION, kept: new Set(links.keys), sales: new Map() };
      consider(openRegion(question, region, null));
      count++;
    }
    const cut = chooseCut(question, node, evaluation);
    if (cut === undefined) continue;
    const parts = divideRegion(node.region, cut).map((region) => openRegion(question, region, node)) as [Node, Node];
    node.split = { cut, parts };
    count += 2;
    for (const part of parts) {
      if (part.solved === null) continue;
      const position = openNodes.findIndex(({ bound }) => bound > part.bound);
      openNodes.splice(position < 0 ? openNodes.length : position, 0, part);
    }
  }
  return createAnswer(root, found.best, { steps, nodes });
}

/** Returns the answer of an account whose sales do not affect each other. */
function createUndivided({ built, solved }: Node): SearchedAccount {
  const { program, answer } = solved!;
  return { base: built, answer, tree: { cuts: [null], regions: [{ program, certificates: answer.certificates }] } };
}

interface Found {
  readonly evaluation: Evaluation;
  readonly node: Node;
}

function createAnswer(
  root: Node,
  best: Found | undefined,
  counts: { readonly steps: number; readonly nodes: number },
): SearchedAccount {
  const leastBound = findBound(root);
  const cuts: (RegionCut | null)[] = [];
  const regions: ProvedRegion[] = [];
  let certificateIndex = 0;
  const certificates: SideCertificate[] = [];
  const openNodes = [root];
  for (let node = openNodes.pop(); node !== undefined; node = openNodes.pop()) {
    if (node.split !== null && node.bound < leastBound - GAP_TOLERANCE / 10) {
      cuts.push(node.split.cut);
      openNodes.push(node.split.parts[1], node.split.parts[0]);
      continue;
    }
    cuts.push(null);
    // Multipliers that prove that a region is empty are no prices.
    const own = best === undefined ? (node.solved?.answer.certificates ?? []) : node.certificates;
    regions.push({ program: node.solved?.program ?? node.built.program, certificates: own });
    if (node === best?.node || (best === undefined && certificates.length === 0))
      certificateIndex = certificates.length + (node.solved?.answer.certificateIndex ?? 0);
    certificates.push(...own);
  }
  const bound = findLeastBound(certificates);
  const { answer } = root.solved!;
  if (best === undefined)
    return {
      base: root.built,
      answer: { ...answer, ...counts, status: 'infeasible', certificates, bound, certificateIndex },
      tree: { cuts, regions },
    };
  const { built, trades, figures } = best.evaluation;
  return {
    base: built,
    answer: { status: 'optimal', trades, figures, certificates, bound, certificateIndex, ...counts },
    tree: { cuts, regions },
  };
}

/** Returns the least bound of the regions that are not divided. */
function findBound(root: Node): number {
  let least = Infinity;
  const openNodes = [root];
  for (let node = openNodes.pop(); node !== undefined; node = openNodes.pop())
    if (node.split === null) least = Math.min(least, node.bound);
    else openNodes.push(...node.split.parts);
  return least;
}

/** Solves a region. A part takes multipliers of the whole if those prove more. */
function openRegion(question: SearchQuestion, region: SaleRegion, whole: Node | null): Node {
  const { common, account, window, adapt, solve } = question;
  const built = buildAccount(common, account, window, region);
  if (built.isEmpty) return { region, built, solved: null, certificates: [], bound: Infinity, split: null };
  const program = adapt(built.program);
  const answer = solve(program);
  const certificates = answer.certificates.map((certificate): SideCertificate => {
    const proved = certificate.proof?.bound ?? certificate.bound;
    const others = whole?.certificates.filter(({ side }) => side === certificate.side) ?? [];
    const candidates = [
      ...others.map(({ multipliers }) => multipliers),
      ...(answer.status === 'infeasible'
        ? PROOF_FACTORS.map((factor) => ({
            ...certificate.multipliers,
            variance: certificate.multipliers.variance * factor,
            rows: certificate.multipliers.rows.map((own, j) => (j < program.rows.length ? own * factor : own)),
          }))
        : []),
    ];
    let best = certificate;
    let most = proved;
    for (const multipliers of candidates) {
      const { bound } = computeDualBound(program, program.sides[certificate.side]!, multipliers);
      if (bound > most) [best, most] = [{ side: certificate.side, multipliers, bound }, bound];
    }
    return best;
  });
  return { region, built, solved: { program, answer }, certificates, bound: findLeastBound(certificates), split: null };
}

/** Computes the gains of the trades of a region by the wash sale rule, and checks its prohibitions. */
function evaluateTrades({ common, account, window, adapt }: SearchQuestion, { built, solved }: Node): Evaluation {
  const { answer } = solved!;
  const sold = listSoldShares(common, built, answer.trades);
  const point = buildAtTrades(common, account, { window, sold, links: built.links });
  const trades = { bought: answer.trades.bought, sold: splitSoldShares(point, sold).sold };
  const program = adapt(point.program);
  const figures = computeFigures(program, trades);
  const { brokenGroup, forbidden } = findProhibited(common, point, { trades, sold });
  const isPermitted =
    figures.worst <= VIOLATION_MAX &&
    brokenGroup < 0 &&
    forbidden.length === 0 &&
    (!isDivisible(built) || reportBrokenRules(common, point, trades).length === 0);
  const replacing = forbidden.flatMap(({ fresh }) => (fresh.lot === null ? [] : [fresh.lot]));
  return { built: point, trades, figures, sold, merit: computeMerit(figures), isPermitted, brokenGroup, replacing };
}

/**
 * Finds a group of substitutes of which one is bought and another one sold at a loss, and the sales with a disallowed
 * loss if the account forbids them.
 */
export function findProhibited(
  common: BatchCommon,
  { account, names, forced, rule, priceOf }: BuiltAccount,
  { trades, sold }: Pick<Evaluation, 'trades' | 'sold'>,
) {
  const { lots, substitutes, tax } = account;
  const losing = new Set(
    [...sold.keys()].flatMap((lot) => {
      const { identifier, cost } = lots[lot]!;
      return cost > priceOf(identifier) ? [identifier] : [];
    }),
  );
  const bought = new Set(
    names.flatMap((name, i) => (trades.bought[i]! > TRADE_MIN ? [common.identifiers[name]!] : [])),
  );
  const brokenGroup = substitutes.findIndex(
    (group) => group.some((name) => losing.has(name)) && group.some((name) => bought.has(name)),
  );
  const forcedLots = new Set(forced.sales.map(({ lot }) => lot));
  const isChosen = (own: Replacement): boolean => tax.wash_sales === 'forbid' && !forcedLots.has(own.sold);
  return { brokenGroup, forbidden: computeTaxedSales(rule, sold, priceOf).replacements.filter(isChosen) };
}

const isDivisible = ({ links, account }: BuiltAccount): boolean =>
  links.coupled.size > 0 || links.keys.length > 0 || account.substitutes.length > 0;

interface KnownTrades {
  readonly window: WashWindow;
  readonly sold: ReadonlyMap<number, number>;
  readonly links: BuiltAccount['links'];
}

/** Builds an account with the gains of known trades. */
export function buildAtTrades(
  common: BatchCommon,
  account: Account,
  { window, sold, links }: KnownTrades,
): BuiltAccount {
  const whole = new Set(links.keys.filter((lot) => isSoldWhole(account, sold, lot)));
  const kept = new Set(links.keys.filter((lot) => !whole.has(lot)));
  return buildAccount(common, account, window, { ...WHOLE_REGION, kept, whole, sales: sold });
}

const isSoldWhole = ({ lots }: Account, sold: ReadonlyMap<number, number>, lot: number): boolean =>
  (sold.get(lot) ?? 0) >= lots[lot]!.shares * (1 - 1e-9);

/** Returns the division of a region that excludes its solution or gives it higher gains. */
function chooseCut(
  { common, account }: SearchQuestion,
  { region, built }: Node,
  { brokenGroup, replacing, sold }: Evaluation,
): RegionCut | undefined {
  if (brokenGroup >= 0 && !region.closed.has(brokenGroup) && !region.lossless.has(brokenGroup))
    return { substitutes: brokenGroup };
  const { keys, coupled } = built.links;
  const isOpen = (lot: number): boolean => !region.kept.has(lot) && !region.whole.has(lot);
  const key = replacing.find((lot) => keys.includes(lot) && isOpen(lot)) ?? keys.find(isOpen);
  if (key !== undefined) return { lot: key };
  let [widest, cut]: [number, RegionCut | undefined] = [0, undefined];
  for (const identifier of coupled) {
    let [held, shares] = [0, 0];
    account.lots.forEach((lot, position) => {
      if (lot.identifier !== identifier) return;
      held += lot.shares;
      shares += sold.get(position) ?? 0;
    });
    const { least, most } = region.sold.get(identifier) ?? { least: null, most: held };
    const width = (Math.min(most, held) - shares) * built.priceOf(identifier);
    if (!(width > Math.max(widest, SHARES_MIN * built.priceOf(identifier)))) continue;
    const division = divideShares({ least, most: Math.min(most, held) }, shares, common.terms.whole_shares, held);
    if (division !== undefined) [widest, cut] = [width, { identifier, ...division }];
  }
  return cut;
}

function divideShares(
  { least, most }: { readonly least: number | null; readonly most: number },
  shares: number,
  isWhole: boolean,
  held: number,
): { readonly below: number; readonly above: number } | undefined {
  const from = least ?? 0;
  const isNear = least !== null && shares - from < PART_MIN * (most - from);
  const at = isNear ? (from + most) / 2 : shares;
  if (!isWhole) return { below: at, above: at };
  const below = Math.floor(at + SHARES_MIN);
  const above = Math.min(below + 1, held);
  return below >= from && above <= most + SHARES_MIN ? { below, above } : undefined;
}
