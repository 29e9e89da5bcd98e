import type { Finding } from '../refusals/findings.js';
import type { MarketData } from '../market/market-data.js';
import { unknownField } from '../refusals/unknown-field.js';
import { kindFits } from './expressions/evaluate.js';
import type { ComparedUse } from './compared-use.js';
import { namesOf, referenceKind, resolve, type ValueKind } from '../datapoints/resolution.js';

export interface PlacedUse {
  readonly use: ComparedUse;
  /** Path of the field in the document. */
  readonly path: string;
  readonly rowId: string | null;
}

/**
 * What the market lacks for the datapoints of a document: a warning while it is being saved, since another store may
 * have them, an error once it is to be computed.
 */
export function fieldFindings(
  uses: readonly PlacedUse[],
  market: MarketData,
  severity: 'error' | 'warning',
): Finding[] {
  return uses.flatMap(({ use, path, rowId }) => {
    const problem = problemOf(use, market);
    return problem === undefined ? [] : [{ severity, path, row_id: rowId, ...problem }];
  });
}

type Problem = Pick<Finding, 'code' | 'message' | 'accepted' | 'value'>;

function problemOf(use: ComparedUse, market: MarketData): Problem | undefined {
  const { field, comparison } = use;
  const found = resolve(market, field);
  if ('missing' in found) {
    const need = found.missing === field.name ? '' : `, which ${field.name} needs`;
    const where = field.dataset === null ? 'The store' : `The dataset ${field.dataset} of the store`;
    const accepted = namesOf(market);
    return unknownField(`${where} has no ${found.missing}${need}.`, {
      name: found.missing,
      accepted,
      value: field.name,
    });
  }
  const kind = found.dataset === 'reference' ? referenceKind(market, field.name) : 'number';
  const needsNumber = use.as === 'number' || field.aggregate !== 'last' || field.transform !== 'none';
  if (needsNumber && kind !== 'number') {
    return { code: 'VALUE_TYPE_MISMATCH', message: `${field.name} holds ${PLURAL[kind]}, where numbers are needed.` };
  }
  if (comparison !== undefined && !kindFits(comparison, kind)) {
    return {
      code: 'VALUE_TYPE_MISMATCH',
      message: `${field.name} holds ${PLURAL[kind]}, which ${comparison.comparison} cannot compare with ${JSON.stringify(comparison.value)}.`,
    };
  }
  return undefined;
}

const PLURAL: Readonly<Record<ValueKind, string>> = { number: 'numbers', string: 'texts', boolean: 'booleans' };
