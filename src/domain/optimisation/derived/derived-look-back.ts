import type { Composition } from '../../books/compositions.js';
import type { DecisionMemory } from '../../books/decider.js';
import type { DerivedDocument } from '../../documents/index-document.js';
import { readObjective } from '../../documents/optimisation-spec.js';
import { LIMITS } from '../../refusals/limits.js';
import { computeLookBackOver, type LookBack, listReadsBehind } from '../../rules/look-back.js';
import { EXPOSURE_SESSIONS } from '../../risk/factors/estimate-factors.js';
import { STYLE_FIELDS } from '../../risk/factors/styles.js';
import { findLastAtMost } from '../../numbers/search.js';
import { listPathDates } from '../bound-paths.js';
import { readsHeldWeights } from './derived-solve.js';
import { listReadFields } from '../field-uses.js';
import { readDefinitions } from '../../documents/definitions.js';

export interface DerivedLookBackInput {
  readonly document: DerivedDocument;
  /** Maximum number of sessions without a price in the parent index. */
  readonly maxStaleSessions: number;
  /** Sessions of the parent's calendar, [S]. */
  readonly sessions: Int32Array;
  readonly decision: number;
  /** Known compositions of the parent. */
  readonly parents: readonly Pick<Composition, 'decision'>[];
  readonly memory: DecisionMemory | null;
}

/** Returns the decision sessions of the parent at which bound paths are measured. */
function listPathReviews(
  { derivation }: DerivedDocument,
  { sessions, parents }: Pick<DerivedLookBackInput, 'sessions' | 'parents'>,
): number[] {
  return listPathDates(derivation.constraints).flatMap((day) => {
    const position = findLastAtMost(sessions, day);
    return parents.findLast(({ decision }) => decision <= position)?.decision ?? [];
  });
}

/**
 * Returns the look-back of the optimisation of a derived index. It covers the risk-model window before the decision of
 * the parent's composition, and the windows from which the covariance continues.
 */
export function computeDerivedLookBack({
  document,
  maxStaleSessions,
  sessions,
  decision,
  parents,
  memory,
}: DerivedLookBackInput): LookBack {
  // The parent may have kept its composition at an intermediate rebalance.
  const decisionDay = parents.findLast((parent) => parent.decision <= decision)?.decision ?? decision;
  const { fields, dividendYears } = listReadsBehind(
    listReadFields(document.derivation).map(({ use }) => use.field),
    readDefinitions(document),
  );
  const { session: read, paidAfter } = computeLookBackOver({
    fields,
    dividendYears,
    maxStaleSessions,
    sessions,
    decision: Math.min(decisionDay, ...listPathReviews(document, { sessions, parents })),
  });
  const returnsBehind = findStyledReturns(document);
  // Style exposures must be known before the first return of the window.
  const exposures = computeLookBackOver({
    fields: returnsBehind === null ? [] : STYLE_FIELDS,
    dividendYears: 0,
    maxStaleSessions,
    sessions,
    decision: decisionDay - (returnsBehind === null ? 0 : returnsBehind + EXPOSURE_SESSIONS),
  });
  // the first return needs the previous session
  const returns = (memory?.moments?.rows ?? []).reduce(
    (first, rows) => Math.min(first, rows[0]! - 1),
    decisionDay - Math.max(LIMITS.DERIVED_RISK_SESSIONS, countScenarioSessions(document)),
  );
  // The book of the previous weights is simulated from the beginning of the market. Otherwise results would not be
  // bit-identical.
  const holdingsStart = readsHeldWeights(document) && memory?.solved ? 0 : Number.POSITIVE_INFINITY;
  const session = Math.min(read, exposures.session, returns, holdingsStart);
  return { session, paidAfter: Math.min(paidAfter, exposures.paidAfter, sessions[Math.max(0, session)]!) };
}

/** Returns the number of sessions from which the objective takes scenarios. */
function countScenarioSessions({ derivation: { objective } }: DerivedDocument): number {
  const { scenarios } = readObjective(objective).params;
  return typeof scenarios === 'number' ? scenarios : 0;
}

/** Returns the number of returns of a style model. Returns null for another kind of risk model. */
function findStyledReturns({ derivation: { risk_model: model } }: DerivedDocument): number | null {
  if (typeof model !== 'object' || model === null || model.estimator !== 'styles') return null;
  return model.sessions ?? LIMITS.DERIVED_RISK_SESSIONS;
}
