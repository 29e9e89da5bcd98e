import type { Composer, DeciderFactory } from '#domain/backtest/simulate/compositions.js';
import type { Decision } from '#domain/backtest/simulate/decider.js';
import type { IndexDocument } from '#domain/documents/index-document.js';
import { applyCaps } from '#domain/rules/capping.js';

/**
 * A small decider of its own for tests of what comes after a decision: every name of the universe, weighted equally
 * or by CLOSE x SHARES_OUTSTANDING, under the cap of the document.
 */
export const plainDecider: DeciderFactory = (document: IndexDocument, composer: Composer) => {
  const sm = composer.market(document.id);
  return {
    decide(session): Decision {
      const columns = composer.universe(document.id, session);
      if (columns.length === 0) return nothing;
      const shares = sm.market.fields.get('SHARES_OUTSTANDING');
      const byValue = document.pipeline?.weighting.type === 'MarketCapWeight' && shares !== undefined;
      const values = Float64Array.from(columns, (column) => (byValue ? sm.carriedClose(session, column) * sm.valueAt(shares, session, column) : 1));
      const sum = values.reduce((total, value) => total + value, 0);
      const raw = values.map((value) => value / sum);
      const outcome = applyCaps({ raw, cap: document.pipeline?.weighting.cap ?? null, floor: null, groups: [] });
      if (outcome.kind === 'infeasible') return nothing;
      const { weights, cap, capped, redistributed } = outcome;
      return { kind: 'decided', columns, weights, uncapped: raw, cap, capped: capped.map((k) => columns[k]!), redistributed, findings: [] };
    },
  };
};

const nothing: Decision = {
  kind: 'empty',
  code: 'EMPTY_INDEX',
  finding: { severity: 'error', code: 'EMPTY_RANGE', message: 'Nothing is in the universe.', path: 'universe' },
};
