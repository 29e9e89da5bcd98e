import { describe, expect, test } from 'vitest';
import { validateIndex } from '#domain/definition/index-validation.js';
import type { RuleDocument } from '#domain/definition/index-document.js';
import { computeLookBack } from '#domain/decide/rule-decider.js';
import { alignDays, CALENDARS, createDeciderOf, createTableMarket } from './rule-market.js';

const sumValues = (values: Iterable<number>) => [...values].reduce((total, value) => total + value, 0);
const closeTo = (values: readonly number[]) => values.map((value) => expect.closeTo(value, 12));

function storeIndex(weighting: object, rest: object = {}): RuleDocument {
  const body = {
    id: 'TEST',
    name: 'Test',
    calendar: 'TEST',
    base_date: '2020-01-01',
    ...rest,
    pipeline: { weighting },
  };
  const { document, findings } = validateIndex(body, { calendars: CALENDARS.list(), indexOf: () => undefined });
  if (document === undefined) throw new Error(JSON.stringify(findings));
  return document as RuleDocument;
}

describe('a phase-in', () => {
  /**
   * Number of sessions. Reviews are monthly, on weekdays. The float of A rises from 0.5 to 1 on session 50. B is listed
   * on session 70.
   */
  const SESSIONS = 160;
  const sm = alignDays(
    createTableMarket({
      identifiers: ['A', 'B', 'C'],
      fields: {
        CLOSE: Array.from({ length: SESSIONS }, (_, t) => [10, t < 70 ? null : 10, 10]),
        FLOAT: Array.from({ length: SESSIONS }, (_, t) => [t < 50 ? 0.5 : 1, t < 70 ? null : t < 100 ? 0.4 : 0.8, 0.5]),
      },
    }),
  );
  const schedule = { rebalance: { frequency: 'monthly' } };
  const createPhasedWeighting = (field: string, steps: number) =>
    storeIndex({ type: 'EqualWeight', params: {}, phase_in: { field, steps } }).pipeline.weighting;

  /** Returns true on the first session of a month from January 2020 on. The base date is the first review. */
  const isReview = (t: number) =>
    t === 0 || new Date(sm.sessions[t]! * 864e5).getUTCMonth() !== new Date(sm.sessions[t - 1]! * 864e5).getUTCMonth();

  function computePlainFactor(name: number, session: number, steps: number): number {
    const readPhasedValue = (t: number) => [t < 50 ? 0.5 : 1, t < 70 ? NaN : t < 100 ? 0.4 : 0.8, 0.5][name]!;
    const reviews = Array.from({ length: session + 1 }, (_, i) => session - i).filter(isReview);
    let last = readPhasedValue(session);
    let sum = 0;
    for (let k = 0; k < steps; k++) {
      const phasedValue = k < reviews.length ? readPhasedValue(reviews[k]!) : NaN;
      if (!Number.isNaN(phasedValue)) last = phasedValue;
      sum += last;
    }
    return sum / steps;
  }

  test('spreads a change over the following reviews in equal steps, and a new security enters in full', () => {
    const decider = createDeciderOf(sm, { weighting: createPhasedWeighting('FLOAT', 3) }, schedule);
    let isPartial = false;
    for (let session = 0; session < SESSIONS; session++) {
      if (!isReview(session)) continue;
      const decision = decider.decide(session, null);
      if (decision.kind !== 'decided') throw new Error(decision.finding.message);
      const factors = Array.from(decision.columns, (column) => computePlainFactor(column, session, 3));
      expect(Array.from(decision.weights)).toEqual(closeTo(factors.map((factor) => factor / sumValues(factors))));
      isPartial ||= factors[0]! > 0.5 && factors[0]! < 1;
    }
    expect(isPartial).toBe(true);
  });

  test('one step is the field itself', () => {
    const ownDecision = createDeciderOf(sm, { weighting: createPhasedWeighting('FLOAT', 1) }, schedule).decide(
      120,
      null,
    );
    const field = createDeciderOf(sm, { weighting: { type: 'FieldWeight', params: { field: 'FLOAT' } } }).decide(
      120,
      null,
    );
    if (ownDecision.kind !== 'decided' || field.kind !== 'decided') throw new Error('nothing was decided');
    // Between reviews, the float of the latest review applies. Here this is the review of session 108.
    expect(Array.from(ownDecision.weights)).toEqual(closeTo([...field.weights]));
  });

  test('counts the review itself and earlier ones, with an early reference date as with a notice in sessions', () => {
    const rules = { weighting: createPhasedWeighting('FLOAT', 3) };
    const decideWith = (notice: object, session: number): number[] => {
      const decision = createDeciderOf(sm, rules, { rebalance: { frequency: 'monthly', ...notice } }).decide(
        session,
        null,
      );
      if (decision.kind !== 'decided') throw new Error(decision.finding.message);
      return [...decision.weights];
    };
    const reference = { rule: 'sessions_before', sessions: 10 };
    for (let session = 0; session < SESSIONS; session++)
      expect(decideWith({ reference }, session)).toEqual(decideWith({ effective_lag: 10 }, session));
    // The first review with the reference date after session 50 moves A by a third.
    const monthBefore = { reference: { rule: 'last_session', months_before: 1 }, anchor: 'last_session' };
    const referenceSession = Array.from({ length: SESSIONS }, (_, t) => t).find((t) => t > 50 && isReview(t + 1))!;
    const factor = (0.5 + 0.5 + 1) / 3;
    expect(decideWith(monthBefore, referenceSession)).toEqual(closeTo([factor / (factor + 0.5), 0.5 / (factor + 0.5)]));
  });

  test('counts reviews with one reference date once', () => {
    const rules = { weighting: createPhasedWeighting('FLOAT', 3) };
    const createSchedule = (frequency: string) => ({
      rebalance: { frequency, reference: { rule: 'last_session', months_before: 1 } },
    });
    const decideOn = (frequency: string, session: number) =>
      createDeciderOf(sm, rules, createSchedule(frequency)).decide(session, null);
    const lastOfMonths = Array.from({ length: SESSIONS - 1 }, (_, t) => t).filter((t) => isReview(t + 1));
    for (const session of lastOfMonths) expect(decideOn('weekly', session)).toEqual(decideOn('monthly', session));
  });

  test('looks back over its reviews', () => {
    const computeSession = (steps: number) => {
      const document = storeIndex({ type: 'EqualWeight', phase_in: { field: 'FLOAT', steps } }, schedule);
      return computeLookBack({ document, sm, decision: 150 }).session;
    };
    const [latest, , earliest] = Array.from({ length: 151 }, (_, i) => 150 - i).filter(isReview);
    expect(computeSession(1) - computeSession(3)).toBe(latest! - earliest!);
  });
});
