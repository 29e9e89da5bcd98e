import type { Composition } from '../../books/compositions.js';
import type { DecisionMemory } from '../../books/decider.js';
import type { DerivedDocument } from '../../documents/index-document.js';
import { readObjective } from '../../documents/optimisation-spec.js';
import { LIMITS } from '../../refusals/limits.js';
import { lookBackOver, type LookBack, listReadsBehind } from '../../rules/look-back.js';
import { EXPOSURE_SESSIONS } from '../../risk/factors/estimate-factors.js';
import { STYLE_FIELDS } from '../../risk/factors/styles.js';
import { findLastAtMost } from '../../numbers/search.js';
import { listPathDates } from '../bound-paths.js';
import { readsHeldWeights } from './derived-solve.js';
import { listFieldsRead } from '../field-uses.js';
import { readDefinitions } from '../../documents/definitions.js';

export interface DerivedLookBackInput {
  readonly document: DerivedDocument;
  /** Longest gap of prices in the parent, in sessions. */
  readonly maxStaleSessions: number;
  /** Sessions of the parent's calendar, [S]. */
  readonly sessions: Int32Array;
  readonly decision: number;
  /** Known compositions of the parent. */
  readonly parents: readonly Pick<Composition, 'decision'>[];
  readonly memory: DecisionMemory | null;
}

/** Returns decisions of the parent at which bounds along a path are measured. */
function pathReviews(
  { derivation }: DerivedDocument,
  { sessions, parents }: Pick<DerivedLookBackInput, 'sessions' | 'parents'>,
): number[] {
  return listPathDates(derivation.constraints).flatMap((day) => {
    const at = findLastAtMost(sessions, day);
    return parents.findLast(({ decision }) => decision <= at)?.decision ?? [];
  });
}

/**
 * Returns the look-back of the optimisation of a derived index: the window of its risk model before the decision of the
 * parent's composition, and the windows from which the covariance continues.
 */
export function computeDerivedLookBack({
  document,
  maxStaleSessions,
  sessions,
  decision,
  parents,
  memory,
}: DerivedLookBackInput): LookBack {
  // The parent may keep its composition at a rebalance in between.
  const decided = parents.findLast((parent) => parent.decision <= decision)?.decision ?? decision;
  const { fields, dividendYears } = listReadsBehind(
    listFieldsRead(document.derivation).map(({ use }) => use.field),
    readDefinitions(document),
  );
  const { session: read, paidAfter } = lookBackOver({
    fields,
    dividendYears,
    maxStaleSessions,
    sessions,
    decision: Math.min(decided, ...pathReviews(document, { sessions, parents })),
  });
  const returnsBehind = findStyledReturns(document);
  // Exposures to styles are known before the first return of the window.
  const exposures = lookBackOver({
    fields: returnsBehind === null ? [] : STYLE_FIELDS,
    dividendYears: 0,
    maxStaleSessions,
    sessions,
    decision: decided - (returnsBehind === null ? 0 : returnsBehind + EXPOSURE_SESSIONS),
  });
  // A return needs the previous session.
  const returns = (memory?.moments?.rows ?? []).reduce(
    (first, rows) => Math.min(first, rows[0]! - 1),
    decided - Math.max(LIMITS.DERIVED_RISK_SESSIONS, scenariosOf(document)),
  );
  // The book of the previous weights is simulated from the beginning of the market, so that it has the same bits.
  const held = readsHeldWeights(document) && memory?.solved ? 0 : Number.POSITIVE_INFINITY;
  const session = Math.min(read, exposures.session, returns, held);
  return { session, paidAfter: Math.min(paidAfter, exposures.paidAfter, sessions[Math.max(0, session)]!) };
}

/** Returns the sessions that the objective uses as scenarios. */
function scenariosOf({ derivation: { objective } }: DerivedDocument): number {
  const { scenarios } = readObjective(objective).params;
  return typeof scenarios === 'number' ? scenarios : 0;
}

/** Returns the number of returns of a style model; null for another risk model. */
function findStyledReturns({ derivation: { risk_model: model } }: DerivedDocument): number | null {
  if (typeof model !== 'object' || model === null || model.estimator !== 'styles') return null;
  return model.sessions ?? LIMITS.DERIVED_RISK_SESSIONS;
}
