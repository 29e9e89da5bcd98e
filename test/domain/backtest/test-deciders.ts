import type { Composer, DeciderFactory, Decision } from '#domain/books/compositions.js';
import type { IndexDocument } from '#domain/definition/index-document.js';
import { applyCaps } from '#domain/decide/capping.js';

/**
 * Creates a simple function that decides weights, for tests of later steps. It selects all securities of the universe,
 * weights them equally or by CLOSE x SHARES_OUTSTANDING, and applies the cap of the document.
 */
export const createPlainDecider: DeciderFactory = (document: IndexDocument, composer: Composer) => {
  const sm = composer.market(document.id);
  return {
    decide(session, _incumbents, _outgoing, columnsAllowed): Decision {
      const columns = columnsAllowed ?? composer.universe(document.id, session);
      if (columns.length === 0) return emptyDecision;
      const shares = sm.market.fields.get('SHARES_OUTSTANDING');
      const byValue = document.pipeline?.weighting.type === 'MarketCapWeight' && shares !== undefined;
      const values = Float64Array.from(columns, (column) =>
        byValue ? sm.carriedClose(session, column) * sm.valueAt(shares, session, column) : 1,
      );
      const sum = values.reduce((total, value) => total + value, 0);
      const raw = values.map((value) => value / sum);
      const limit = document.pipeline?.weighting.cap;
      const outcome = applyCaps({ raw, cap: typeof limit === 'number' ? limit : null, floor: null, groups: [] });
      if (outcome.kind === 'infeasible') return emptyDecision;
      const { weights, cap, capped, redistributed } = outcome;
      return {
        kind: 'decided',
        columns,
        weights,
        uncapped: raw,
        cap,
        capped: capped.map((k) => columns[k]!),
        redistributed,
        findings: [],
      };
    },
  };
};

export interface SignedTerms {
  /** Sum of the short weights as a magnitude. */
  readonly short: number;
  /** Cash weight: 1 minus the sum of all weights. */
  readonly cash: number;
}

/**
 * Creates a function that decides the weights of all securities of the universe. One security in three is short. If
 * this would leave no long or no short position, all are long.
 */
export function createSignedDecider({ short, cash }: SignedTerms): DeciderFactory {
  return (document, composer) => ({
    decide(session): Decision {
      const columns = composer.universe(document.id, session);
      if (columns.length === 0) return emptyDecision;
      const isShort = (column: number): boolean => column % 3 === 1;
      const sumSizes = (side: boolean): number =>
        columns.reduce((sum, column) => sum + (isShort(column) === side ? column + 2 : 0), 0);
      const [longs, shorts] = [sumSizes(false), sumSizes(true)];
      const hasBoth = longs > 0 && shorts > 0;
      const weights = Float64Array.from(columns, (column) => {
        if (!hasBoth) return ((1 - cash) * (column + 2)) / (longs + shorts);
        return isShort(column) ? (-short * (column + 2)) / shorts : ((1 - cash + short) * (column + 2)) / longs;
      });
      return {
        kind: 'decided',
        columns,
        weights,
        uncapped: weights,
        cap: null,
        capped: new Int32Array(0),
        redistributed: 0,
        findings: [],
      };
    },
  });
}

/**
 * Functions that decide weights. One is fully invested with a small short side. Two hold a part in cash, with and
 * without a short side. One is long and short in equal size.
 */
export const SIGNED_DECIDERS: readonly DeciderFactory[] = [
  { short: 0.3, cash: 0 },
  { short: 0, cash: 0.2 },
  { short: 0.2, cash: 0.3 },
  { short: 0.8, cash: 1 },
].map(createSignedDecider);

const emptyDecision: Decision = {
  kind: 'empty',
  code: 'EMPTY_INDEX',
  finding: { severity: 'error', code: 'EMPTY_RANGE', message: 'Nothing is in the universe.', path: 'universe' },
};
