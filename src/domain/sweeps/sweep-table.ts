import type { Engine } from '#kernels/engines/engine.js';
import { covariance } from '../analytics/series.js';
import { isEqual } from '../numbers/number-types.js';
import type { ErrorDetail } from '../refusals/refusal.js';
import { expectedMaximumSharpe, probabilisticSharpe, sharpeSample, type SharpeSample } from './deflated-sharpe.js';
import { overfitting, type Overfitting } from './overfitting.js';
import { chooseByFolds, type ChoiceByFolds, type FoldsTooShort } from './choose-by-folds.js';
import type { SweepFolds } from './fold-terms.js';
import type { VariantOutcome, VariantRun } from './run-variants.js';
import { preferenceOf, type RankingName } from './rankings.js';

/** A variant in the table. */
export interface SweepRow {
  /** From 1 for the best; null for a variant that was refused. */
  readonly rank: number | null;
  /** Position among the variants. */
  readonly variant: number;
  readonly run: VariantRun | null;
  readonly error: ErrorDetail | null;
  /** Probability that the true Sharpe ratio is above what the best of all trials would show if all true ones were 0. */
  readonly deflatedSharpe: number | null;
}

/** What choosing one of several variants does to its Sharpe ratio. Ratios are of a session, not annualised. */
export interface Selection {
  /** Variants that ran: those of equal levels are one trial. */
  readonly trials: number;
  readonly sharpeVariance: number;
  readonly expectedMaximumSharpe: number;
  /** Of the variant ranked first. */
  readonly best: SharpeSample;
  readonly deflatedSharpe: number | null;
}

export interface SweepTable {
  /** By rank, then those that were refused. */
  readonly rows: readonly SweepRow[];
  /** Null when no variant ran. */
  readonly selection: Selection | null;
  /** Null with fewer than two trials, or too few dates that all of them have. */
  readonly overfitting: Overfitting | null;
  /** What the choice is worth out of sample, trials as variants by position; null unless it was asked for. */
  readonly folds: ChoiceByFolds | FoldsTooShort | null;
  /** Variants whose levels are equal bit for bit, by position: a group for each that several have. */
  readonly identical: readonly (readonly number[])[];
}

export interface SweepTableInput {
  readonly outcomes: readonly VariantOutcome[];
  readonly rankBy: RankingName;
  readonly partitions: number;
  readonly folds: SweepFolds | null;
  /** Engine of the choices; plain loops unless given. */
  readonly engine?: Engine | undefined;
  readonly tick?: (fraction: number) => void;
}

/** Ranks variants and says what the choice is worth. @cost that of `overfitting` and `chooseByFolds` */
export function sweepTable({ outcomes, rankBy, partitions, folds, engine, tick }: SweepTableInput): SweepTable {
  const groups = groupsOf(outcomes);
  const ran = outcomes.flatMap((outcome, variant) =>
    outcome.kind === 'run' ? [{ variant, run: outcome, sample: sharpeSample(returnsOn(outcome, outcome.days)) }] : [],
  );
  const firsts = new Set(groups.map(([first]) => first));
  const trials = ran.filter(({ variant }) => firsts.has(variant));
  const sharpes = Float64Array.from(trials, ({ sample }) => sample.sharpe);
  const variance = covariance(sharpes, sharpes);
  const threshold = expectedMaximumSharpe({ trials: trials.length, variance });
  const sign = preferenceOf(rankBy);
  const valueOf = ({ metrics }: VariantRun): number => sign * (metrics[rankBy] ?? 0);
  const ranked = ran.toSorted((a, b) => valueOf(b.run) - valueOf(a.run) || a.variant - b.variant);
  const rows: SweepRow[] = ranked.map(({ variant, run, sample }, i) => ({
    rank: i + 1,
    variant,
    run,
    error: null,
    deflatedSharpe: probabilisticSharpe(sample, threshold),
  }));
  outcomes.forEach((outcome, variant) => {
    if (outcome.kind === 'refused')
      rows.push({ rank: null, variant, run: null, error: outcome.error, deflatedSharpe: null });
  });
  const first = ranked[0];
  return {
    rows,
    selection:
      first === undefined
        ? null
        : {
            trials: trials.length,
            sharpeVariance: variance,
            expectedMaximumSharpe: threshold,
            best: first.sample,
            deflatedSharpe: rows[0]!.deflatedSharpe,
          },
    ...outOfSample(trials, { partitions, folds, engine, tick }),
    identical: groups.filter((group) => group.length > 1),
  };
}

/** Variants that ran by their levels, each group and the groups in the order of the variants. */
function groupsOf(outcomes: readonly VariantOutcome[]): number[][] {
  const groups: { readonly like: VariantRun; readonly members: number[] }[] = [];
  const byEnd = new Map<number, typeof groups>();
  outcomes.forEach((outcome, variant) => {
    if (outcome.kind === 'refused') return;
    const end = outcome.level.at(-1)!;
    const alike = byEnd.get(end) ?? [];
    const known = alike.find(({ like }) => isEqual(like.days, outcome.days) && isEqual(like.level, outcome.level));
    if (known) {
      known.members.push(variant);
      return;
    }
    const group = { like: outcome, members: [variant] };
    groups.push(group);
    byEnd.set(end, [...alike, group]);
  });
  return groups.map(({ members }) => members);
}

interface OutOfSampleInput {
  readonly partitions: number;
  readonly folds: SweepFolds | null;
  readonly engine: SweepTableInput['engine'];
  readonly tick: SweepTableInput['tick'];
}

/** Overfitting, and the choice by folds, on the dates that all trials have. */
function outOfSample(
  trials: readonly { readonly variant: number; readonly run: VariantRun }[],
  { partitions, folds, engine, tick }: OutOfSampleInput,
): Pick<SweepTable, 'overfitting' | 'folds'> {
  const days = sharedDays(trials.map(({ run }) => run));
  const observations = Math.max(0, days.length - 1);
  const returns = new Float64Array(trials.length * observations);
  trials.forEach(({ run }, n) => returns.set(returnsOn(run, days), n * observations));
  tick?.(0);
  const shape = { returns, variants: trials.length, observations };
  const found = overfitting({ ...shape, partitions, ...(engine === undefined ? {} : { engine }) });
  const chosen =
    folds === null || trials.length === 0 ? null : chooseByFolds({ returns, trials: trials.length, days, folds, tick });
  return {
    overfitting: found ?? null,
    folds:
      chosen?.kind === 'chosen'
        ? { ...chosen, choices: chosen.choices.map((one) => ({ ...one, trial: trials[one.trial]!.variant })) }
        : chosen,
  };
}

/** Days that every run has, ascending. */
function sharedDays(runs: readonly VariantRun[]): Int32Array {
  const [first, ...others] = runs;
  if (first === undefined) return new Int32Array(0);
  return others.reduce((days, run) => {
    if (isEqual(days, run.days)) return days;
    const known = new Set(run.days);
    return days.every((day) => known.has(day)) ? days : days.filter((day) => known.has(day));
  }, first.days);
}

/** Returns between days of a run. */
function returnsOn({ days, level }: VariantRun, wanted: Int32Array): Float64Array {
  const returns = new Float64Array(Math.max(0, wanted.length - 1));
  let at = 0;
  let before = Number.NaN;
  for (let i = 0; i < wanted.length; i++) {
    while (days[at] !== wanted[i]) at++;
    const value = level[at]!;
    // What is worth nothing any more stays that.
    if (i > 0) returns[i - 1] = before === 0 ? 0 : value / before - 1;
    before = value;
  }
  return returns;
}
