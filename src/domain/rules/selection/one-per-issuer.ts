import { defineObject } from '../../schema/define-object.js';
import { createLatestRequest } from '../../datapoints/field-request.js';
import { useCategory, useNumber } from '../../datapoints/field-use.js';
import * as parameters from '../parameters.js';
import { defineSelectionClass } from '../selection-class.js';
import { keepBest, readGroups, keepRanked, describeMissingPolicy, nameUsedField, readValues } from '../verdicts.js';

const NO_POSITIONS = new Int32Array(0);

export const onePerIssuer = defineSelectionClass({
  type: 'OnePerIssuer',
  label: 'One line per issuer',
  help: 'Keeps the best share line of each issuer. A security without an issuer is a separate issuer.',
  params: defineObject(() => ({
    issuer_field: parameters.fieldName
      .default('ISSUER')
      .meta({ label: 'Issuer field', help: 'Column that identifies the issuer.' }),
    field: parameters.fieldName.default('VALUE_TRADED'),
    window: parameters.defineWindow(60),
    missing: parameters.missing,
  })),
  example: {
    id: 'one-line',
    type: 'OnePerIssuer',
    params: { issuer_field: 'ISSUER', field: 'VALUE_TRADED', window: 60 },
  },
  behaviour({ issuer_field, field, window, missing }) {
    const issuer = useCategory(issuer_field, 'issuer_field');
    const value = useNumber(createLatestRequest(field, { aggregate: 'median', window }), 'field');
    return {
      reads: [issuer, value],
      remembers: false,
      sentence: `Of each ${issuer_field} keep the line with the largest ${nameUsedField(value)}; a security without an issuer is an issuer by itself; ${describeMissingPolicy(missing)}.`,
      select(scope) {
        const byIssuer = readGroups(scope, issuer);
        const securitiesWithoutIssuer = Array.from(byIssuer.get(null) ?? NO_POSITIONS).map(
          (position): [string | null, Int32Array] => [`\u0000${position}`, Int32Array.of(position)],
        );
        const groups = new Map([...[...byIssuer].filter(([name]) => name !== null), ...securitiesWithoutIssuer]);
        return keepRanked(scope, {
          values: readValues(scope, value),
          groups,
          ascending: false,
          missing,
          what: `${nameUsedField(value)} in its ${issuer_field}`,
          choose: (order) => keepBest(order, 1),
        });
      },
    };
  },
});
