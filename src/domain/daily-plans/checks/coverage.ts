import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { defineCheckKind, formatPercent, defineSeverity } from './check-kind.js';

const help =
  'Constituents that are traded on the session have a price. The check measures the weight of the constituents with a price.';

export const coverageCheck = defineCheckKind({
  schema: defineObject(() => ({
    check: z.literal('coverage'),
    severity: defineSeverity('block'),
    minimum: z
      .number()
      .min(0)
      .max(1)
      .default(1)
      .meta({ description: 'Minimum weight of the constituents with a price.' }),
  })).meta({ id: 'CoverageCheck', description: help }),
  help,
  needsRun: false,
  reads: ['closing'],
  judge({ closing, date, closeOn, isClosed }, { minimum }) {
    const missingHoldings = (closing?.holdings ?? []).filter(
      ({ identifier }) => !isClosed(identifier) && Number.isNaN(closeOn(identifier, date)),
    );
    const weight = missingHoldings.reduce((sum, holding) => sum + holding.weight, 0);
    if (missingHoldings.length === 0 || 1 - weight >= minimum) return [];
    return missingHoldings.map((holding) => ({
      identifier: holding.identifier,
      message: `${holding.identifier} has no price. Constituents without a price have ${formatPercent(weight)} of the index.`,
      measure: { value: 1 - weight, limit: minimum, unit: 'fraction' },
    }));
  },
});
