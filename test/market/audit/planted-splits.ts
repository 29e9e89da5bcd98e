import { createCounterRandom } from '#kernels/random/counter-random.js';
import type { Adjustment } from '#domain/market/market-data.js';
import { formatDay } from '#domain/base/time.js';
import { auditMarket } from '#market/judge/audit.js';
import type { DataWarning } from '#market/judge/security-histories.js';
import type { MarketContent } from '#market/content/market-content.js';
import type { RealSet } from './real-panels.js';

/** Ratios of splits and consolidations that companies usually choose: mostly two for one. */
const RATIOS = [2, 2, 2, 2, 3 / 2, 3 / 2, 3, 3, 4, 5, 7, 10, 1 / 2, 1 / 5, 1 / 8, 1 / 10, 1 / 10];
/**
 * Minimum number of bars between a planted split and other events: the ends of a history, and real moves that could
 * hide the split.
 */
const CLEAR_BARS = 30;
/**
 * Approximate number of planted splits in a set. Several hundred are enough to determine a rate, and an audit lists at
 * most a thousand warnings.
 */
const PLANTED_MAX = 500;
/** Size of a move that could be mistaken for a split: a fall of 30 % or more, or a rise of equal size in logarithms. */
const LARGE_MOVE = 1 / 0.7;

export interface Score {
  readonly set: string;
  readonly declared: Adjustment;
  readonly planted: number;
  readonly foundCount: number;
  /** Number of real moves that could be mistaken for a split. */
  readonly large: number;
  /** Splits that the audit reports on days on which the set has neither a planted split nor a known error. */
  readonly claimed: readonly string[];
  readonly missed: readonly string[];
}

interface PlantedSplit {
  readonly identifier: string;
  readonly date: string;
  readonly ratio: number;
}

/** Correct findings of the audit in real sets: missing splits, and prices on the wrong share basis. */
const KNOWN_FAULTS: ReadonlySet<string> = new Set([
  'CSX 2011-06-16',
  'UAA 2012-07-10',
  'BF.B 2012-08-13', // splits of 3, 2 and 3/2 for 1
  'fbp 2010-08-23',
  'fbp 2011-01-07',
  'sanm 2009-09-14', // consolidations that apply to only a part of the history
  'aapl 2000-06-21',
  'aapl 2005-02-28',
  'aapl 2014-06-09',
  'aapl 2020-08-31',
  'ibm 1999-05-27',
  'qqq 2000-03-20', // unadjusted prices
]);

/**
 * Audits a set for each declared adjustment, first unchanged, then with a split planted in the history of every
 * security. The volume of the security is either adjusted or on the old share basis.
 */
export function computeScores(set: RealSet, declared: readonly Adjustment[], seed: number): Score[] {
  const large = countLargeMoves(set.content);
  const truth: PlantedSplit[] = [];
  const content = addSplits(set.content, seed, truth);
  return declared.map((each) => computeScore({ set, declared: each, large, truth, content }));
}

interface PlantingTerms {
  readonly set: RealSet;
  readonly declared: Adjustment;
  readonly large: number;
  readonly truth: readonly PlantedSplit[];
  readonly content: MarketContent;
}

function computeScore({ set, declared, large, truth, content }: PlantingTerms): Score {
  const realSplits = listMissedSplits(set.content, declared);
  const results = new Map(
    listMissedSplits(content, declared).map((warning) => [`${warning.identifier} ${warning.date}`, warning]),
  );
  const missedSplits = truth.filter(({ identifier, date, ratio }) => {
    const warning = results.get(`${identifier} ${date}`);
    return warning === undefined || Math.abs(Number(warning.evidence['ratio']) / ratio - 1) > 1e-9;
  });
  return {
    set: set.name,
    declared,
    planted: truth.length,
    foundCount: truth.length - missedSplits.length,
    large,
    claimed: realSplits
      .map(({ identifier, date }) => `${identifier} ${date}`)
      .filter((place) => !KNOWN_FAULTS.has(place)),
    missed: missedSplits.map(({ identifier, date, ratio }) => `${identifier} ${date} ${ratio}`),
  };
}

const listMissedSplits = (content: MarketContent, declared: Adjustment): DataWarning[] =>
  auditMarket(content, declared, () => {}).doubts.filter(({ kind }) => kind === 'missed_split');

function listBars({ identifiers, dates, fields }: MarketContent, n: number): number[] {
  const close = fields.get('CLOSE')!;
  return Array.from(dates.keys()).filter((t) => close[t * identifiers.length + n]! > 0);
}

function countLargeMoves(content: MarketContent): number {
  const close = content.fields.get('CLOSE')!;
  const width = content.identifiers.length;
  return content.identifiers.reduce((sum, _, n) => {
    const bars = listBars(content, n);
    return (
      sum + bars.filter((t, b) => b > 0 && isLarge(close[t * width + n]! / close[bars[b - 1]! * width + n]!)).length
    );
  }, 0);
}

const isLarge = (growth: number) => Math.max(growth, 1 / growth) > LARGE_MOVE;

function addSplits(content: MarketContent, seed: number, truth: PlantedSplit[]): MarketContent {
  const random = createCounterRandom({ seed, stream: 0 });
  const fields = new Map([...content.fields].map(([name, panel]) => [name, panel.slice()]));
  const [close, volume] = [fields.get('CLOSE')!, fields.get('VOLUME')];
  const width = content.identifiers.length;
  // A small set gets several splits per security, far apart. A large set gets so few that an audit lists all of them.
  const countPerField = Math.ceil(Math.min(PLANTED_MAX / width, content.dates.length / 250));
  const step = Math.ceil(width / PLANTED_MAX);
  content.identifiers.forEach((identifier, n) => {
    if (n % step !== 0) return;
    const bars = listBars(content, n);
    if (bars.length < 3 * CLEAR_BARS) return;
    const takenBars: number[] = [];
    for (let i = 0; i < countPerField; i++) {
      const b = CLEAR_BARS + random.integer(bars.length - 2 * CLEAR_BARS);
      const ratio = RATIOS[random.integer(RATIOS.length)]!;
      const aroundBars = bars.slice(b - 6, b + 7).map((t) => content.fields.get('CLOSE')![t * width + n]!);
      if (
        takenBars.some((other) => Math.abs(other - b) < 2 * CLEAR_BARS) ||
        aroundBars.some((price, k) => k > 0 && isLarge(price / aroundBars[k - 1]!))
      )
        continue;
      takenBars.push(b);
      const scalesVolume = random.integer(2) === 0;
      for (const t of bars.slice(0, b)) {
        close[t * width + n]! *= ratio;
        if (scalesVolume && volume !== undefined) volume[t * width + n]! /= ratio;
      }
      truth.push({ identifier, date: formatDay(content.dates[bars[b]!]!), ratio });
    }
  });
  return { ...content, fields };
}
