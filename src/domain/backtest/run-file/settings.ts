import { callOnce } from '#base/once.js';
import type { RoundingSpec } from '../../documents/rounding.js';
import { STALE_SESSIONS } from '../../documents/stale-sessions.js';
import { findBreachRule } from '../../compliance/breach-watch.js';
import { createDatedRounding, findRounding } from '../../documents/dated-rounding.js';
import { findTextInForce } from '../../documents/text-spans.js';
import { findTreatment, type DatedTreatment } from '../../documents/treatment.js';
import {
  toChangingTerms,
  createGrowthTerms,
  findTerms,
  type GrowthTerms,
} from '../../index-mathematics/growth-terms.js';
import { parseValidDay, formatDay, type Day } from '../../time/days.js';
import type { ShareTerms } from '../../index-mathematics/adjusted-close.js';
import { TreatmentSpec } from '../../documents/index-document.js';
import type { ReturnVariant } from '../../market/market-data.js';
import type { Compositions } from '../../books/compositions.js';
import { createIndexTerms } from '../../books/index-run.js';

/** Stored form of a treatment; default values are omitted. */
export type StoredTreatment = Pick<TreatmentSpec, 'special_dividends' | 'splits' | 'breach_rule'> & {
  readonly stale_targets?: 'defer';
} & Partial<
    Pick<
      TreatmentSpec,
      | 'delisting'
      | 'max_stale_sessions'
      | 'entry_stale_sessions'
      | 'suspension'
      | 'withholding_tax'
      | 'reinvestment'
      | 'rights'
      | 'spin_offs'
    >
  > & {
    readonly split_shares?: 'keep';
  };

/** Settings of runs whose header omits them, as in versions up to 0.2.0. */
const OLDER_SETTINGS = { reinvestment: 'constituent', rights: 'constituent' } as const;

/** Settings that apply after the close of a day, from an amendment of the index. */
export interface StoredAmendment {
  /** YYYY-MM-DD */
  readonly after: string;
  readonly treatment: StoredTreatment;
  readonly rounding: RoundingSpec;
}

/** Header members that state the terms of the simulation. */
export interface RunSettings {
  readonly treatment: StoredTreatment;
  readonly rounding: RoundingSpec | undefined;
  readonly amended: readonly StoredAmendment[] | undefined;
}

/** Header members with the currencies of the run and of its securities. */
interface RunCurrencies {
  readonly currency: string;
  readonly securities_in: string | undefined;
}

/** Returns treatment and rounding of a run in force on a day. */
export function findRunSettings(
  { treatment, rounding = {}, amended = [] }: RunSettings,
  day: Day,
): Pick<StoredAmendment, 'treatment' | 'rounding'> {
  return amended.findLast(({ after }) => parseValidDay(after) < day) ?? { treatment, rounding };
}

/** Returns the treatment of a run by date. */
export function toDatedRunTreatment({
  treatment,
  amended,
}: Pick<RunSettings, 'treatment' | 'amended'>): DatedTreatment {
  if (amended === undefined) return restoreTreatment(treatment);
  return {
    ...restoreTreatment(treatment),
    amended: amended.map((storedAmendment) => ({
      after: parseValidDay(storedAmendment.after),
      treatment: restoreTreatment(storedAmendment.treatment),
      weighting: undefined,
    })),
  };
}

/** Returns the growth terms of a run by date. */
export function readRunGrowthTerms(header: RunSettings & RunCurrencies, variant: ReturnVariant): GrowthTerms {
  const createTerms = (treatment: StoredTreatment): GrowthTerms => ({
    ...createGrowthTerms(restoreTreatment(treatment), readSecurityCurrency(header), variant),
    ...readRunShareTerms(treatment),
  });
  const terms = createTerms(header.treatment);
  if (header.amended === undefined) return terms;
  const amendedTerms = header.amended.map(({ after, treatment }) =>
    toChangingTerms(createTerms(treatment), parseValidDay(after)),
  );
  return { ...terms, amended: amendedTerms };
}

/** Restores the treatment of a run from its stored form. */
export function restoreTreatment({ split_shares: _shares, ...treatment }: StoredTreatment): TreatmentSpec {
  const { max_stale_sessions: sessions = STALE_SESSIONS } = treatment;
  const gaps = { max_stale_sessions: sessions, entry_stale_sessions: sessions ?? STALE_SESSIONS };
  return TreatmentSpec.parse({ ...OLDER_SETTINGS, ...gaps, ...treatment });
}

/** Returns the terms on which corporate actions change the index shares of a run. */
export function readRunShareTerms({
  rights = OLDER_SETTINGS.rights,
  split_shares: splitShares,
}: StoredTreatment): ShareTerms {
  return { rights, splitShares: splitShares ?? 'multiply' };
}

const getDefaultTreatment = callOnce(() => TreatmentSpec.parse({}));

type TreatmentTerms = Pick<GrowthTerms, 'rights' | 'splitShares'> & {
  readonly rule: StoredTreatment['breach_rule'] | null;
};

/** Returns the stored form of a treatment. */
export function toStoredTreatment(
  treatment: TreatmentSpec,
  { rule, rights, splitShares }: TreatmentTerms,
): StoredTreatment {
  const { special_dividends, splits, stale_targets, delisting, max_stale_sessions, withholding_tax } = treatment;
  const { reinvestment, spin_offs, suspension, entry_stale_sessions } = treatment;
  return {
    special_dividends,
    splits,
    ...(stale_targets === 'defer' ? { stale_targets } : {}),
    ...(rule ? { breach_rule: rule } : {}),
    ...(delisting === getDefaultTreatment().delisting ? {} : { delisting }),
    ...(max_stale_sessions === STALE_SESSIONS ? {} : { max_stale_sessions }),
    ...(max_stale_sessions === STALE_SESSIONS && entry_stale_sessions === STALE_SESSIONS
      ? {}
      : { entry_stale_sessions }),
    ...(suspension === 'zero' ? { suspension } : {}),
    ...(withholding_tax === getDefaultTreatment().withholding_tax ? {} : { withholding_tax }),
    ...(reinvestment === OLDER_SETTINGS.reinvestment ? {} : { reinvestment }),
    ...(rights === OLDER_SETTINGS.rights ? {} : { rights }),
    ...(spin_offs === 'drop_after_first_session' ? { spin_offs } : {}),
    ...(splitShares === 'keep' ? { split_shares: splitShares } : {}),
  };
}

interface AmendedIndex extends Pick<Compositions, 'document' | 'treatment' | 'sm'> {
  /** Last day of the run. */
  readonly last: Day;
}

/**
 * Returns the changes that amendments made to an index up to the last day of a run. Returns undefined if there are
 * none.
 */
export function toStoredAmendments(index: AmendedIndex): readonly StoredAmendment[] | undefined {
  const { document, treatment, sm, last } = index;
  const rounding = createDatedRounding(document, sm.calendar);
  const terms = createIndexTerms(index);
  const days = new Set([...(treatment.amended ?? []), ...(rounding?.amended ?? [])].map(({ after }) => after));
  const amendments = [...days]
    .filter((after) => after < last)
    .toSorted((a, b) => a - b)
    .map((after): StoredAmendment => {
      const { document: text } = findTextInForce(document, sm.calendar, after + 1);
      const rule = findBreachRule(text.pipeline?.treatment);
      return {
        after: formatDay(after),
        treatment: toStoredTreatment(findTreatment(treatment, after + 1), { rule, ...findTerms(terms, after + 1) }),
        rounding: findRounding(rounding, after + 1),
      };
    });
  return amendments.length === 0 ? undefined : amendments;
}

/** Returns the valuation currency of the securities of a run. */
export function readSecurityCurrency({ currency, securities_in: securityCurrency }: RunCurrencies): string {
  return securityCurrency ?? currency;
}
