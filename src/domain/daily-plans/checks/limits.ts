import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { formatCount } from '../../catalogue/sentence-numbers.js';
import { LIMIT_RULE_NAMES, LIMIT_RULES } from '../../compliance/rules.js';
import { computeHeadroom } from '../../compliance/limit-row.js';
import { defineCheckKind, formatPercent, defineSeverity, type CheckFinding, type CheckInput } from './check-kind.js';

const help = 'The closing composition satisfies limits of concentration and of the number of constituents.';

/** Maximum excess over a limit that counts as a rounding error. */
const ROUNDING_ERROR = 1e-9;

export const limitsCheck = defineCheckKind({
  schema: defineObject(() => ({
    check: z.literal('limits'),
    severity: defineSeverity('warn'),
    rule: z.enum(LIMIT_RULE_NAMES).nullable().default(null).meta({ description: 'Published rule of concentration.' }),
    maximum_weight: z
      .number()
      .gt(0)
      .max(1)
      .nullable()
      .default(null)
      .meta({ description: 'Largest weight of a security.' }),
    minimum: z.int().min(0).nullable().default(null).meta({ description: 'Minimum number of constituents.' }),
    maximum: z.int().min(1).nullable().default(null).meta({ description: 'Maximum number of constituents.' }),
  })).meta({ id: 'LimitsCheck', description: help }),
  help,
  needsRun: true,
  reads: ['closing'],
  judge(input, { rule, maximum_weight: most, minimum, maximum }) {
    const { closing } = input;
    if (closing === null) return [];
    const { holdings } = closing;
    const count = holdings.length;
    const createCountFinding = (limit: number, word: string): CheckFinding => ({
      identifier: null,
      message: `The index has ${formatCount(count, 'constituent')}; ${limit} ${limit === 1 ? 'is' : 'are'} the ${word}.`,
      measure: { value: count, limit, unit: 'constituents' },
    });
    const securityFindings = holdings
      .filter(({ weight }) => most !== null && weight > most + ROUNDING_ERROR)
      .map(({ identifier, weight }) => ({
        identifier,
        message: `${identifier} has the weight ${formatPercent(weight)}; the limit is ${formatPercent(most!)}.`,
        measure: { value: weight, limit: most!, unit: 'fraction' } as const,
      }));
    return [
      ...securityFindings,
      ...(minimum !== null && count < minimum ? [createCountFinding(minimum, 'least')] : []),
      ...(maximum !== null && count > maximum ? [createCountFinding(maximum, 'most')] : []),
      ...(rule === null ? [] : listBreaches(rule, input)),
    ];
  },
});

function listBreaches(name: (typeof LIMIT_RULE_NAMES)[number], { closing, issuerOf }: CheckInput): CheckFinding[] {
  const { holdings } = closing!; // `judge` is called only with a closing composition
  const names = [...new Set(holdings.map(({ identifier }) => issuerOf(identifier)))];
  const issuers = Int32Array.from(holdings, ({ identifier }) => names.indexOf(issuerOf(identifier)));
  const nets = new Float64Array(names.length);
  for (const [k, { weight }] of holdings.entries()) nets[issuers[k]!]! += weight;
  const heldSecurities = {
    weights: Float64Array.from(holdings, ({ weight }) => weight),
    issuerOf: issuers,
    nets,
    issuers: nets.map(Math.abs),
  };
  return LIMIT_RULES[name].rows.flatMap((row) => {
    const value = row.measure.valueOf(heldSecurities);
    if (computeHeadroom(row, value) >= -ROUNDING_ERROR) return [];
    const message = `${LIMIT_RULES[name].label}: ${row.row} is ${formatPercent(value)}; the limit is ${formatPercent(row.limit)}.`;
    return [{ identifier: null, message, measure: { value, limit: row.limit, unit: 'fraction' } as const }];
  });
}
