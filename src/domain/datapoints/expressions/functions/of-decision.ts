import type { FunctionNode } from '../tree.js';
import { DIMENSIONLESS, YEARS } from '../units.js';
import type { DecisionFunction } from './function-entry.js';

/** Returns the id of the index to which an operand refers. */
export function readIndexName({ operands: [operand] }: FunctionNode): string {
  return operand?.node === 'value' ? String(operand.value) : '';
}

export const DECISION_FUNCTIONS: readonly DecisionFunction[] = [
  {
    name: 'years_of_growth',
    form: 'decision',
    signature: 'years_of_growth(DIVIDEND)',
    help: 'Number of complete calendar years with rising ordinary dividends per share, adjusted for splits, counted back from the last year. A year is counted if the previous year also had dividends, and they were lower.',
    example: 'years_of_growth(DIVIDEND)',
    operands: ['dividends'],
    least: 1,
    most: 1,
    options: [],
    unit: () => YEARS,
    values: (_node, facts) => facts.yearsOfGrowth(),
  },
  {
    name: 'is_constituent',
    form: 'decision',
    signature: 'is_constituent()',
    help: '1 for a constituent of the index before the decision; otherwise 0. Missing before the first price of a security.',
    example: 'rank(MARKET_CAP) - 20 * is_constituent()',
    operands: [],
    least: 0,
    most: 0,
    options: [],
    unit: () => DIMENSIONLESS,
    values: (_node, facts) => facts.constituents(),
  },
  {
    name: 'member_of',
    form: 'decision',
    signature: 'member_of("INDEX-ID")',
    help: '1 for a constituent in the last decided composition of another index; otherwise 0. Missing before the first price of a security.',
    example: 'if(member_of("CORE-40") == 1, MARKET_CAP, 0)',
    operands: ['index'],
    least: 1,
    most: 1,
    options: [],
    unit: () => DIMENSIONLESS,
    values: (node, facts) => facts.membersOf(readIndexName(node)),
  },
  {
    name: 'weight_in',
    form: 'decision',
    signature: 'weight_in("INDEX-ID")',
    help: 'Weight in the last decided composition of another index; 0 for other securities. Missing before the first price of a security.',
    example: 'min(0.09, 3 * weight_in("CORE-40"))',
    operands: ['index'],
    least: 1,
    most: 1,
    options: [],
    unit: () => DIMENSIONLESS,
    values: (node, facts) => facts.weightsIn(readIndexName(node)),
  },
];
