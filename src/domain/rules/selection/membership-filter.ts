import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import type { ExpressionNode } from '../../datapoints/expressions/tree.js';
import { useNumber } from '../../datapoints/field-use.js';
import { Id } from '../../schema/shape.js';
import { defineSelectionClass } from '../selection-class.js';
import { createReason, readValues } from '../verdicts.js';

export const membershipFilter = defineSelectionClass({
  type: 'MembershipFilter',
  label: 'Membership filter',
  help: 'Keeps the constituents of the last decided composition of another index, or all other securities.',
  params: defineObject(() => ({
    index_id: Id.meta({ label: 'Index', help: 'Id of a stored index.' }),
    in: z
      .boolean()
      .default(true)
      .meta({ label: 'Constituents', help: 'If false, the constituents of the index are excluded.' }),
  })),
  example: { id: 'outside', type: 'MembershipFilter', params: { index_id: 'CORE-40', in: false } },
  behaviour({ index_id: indexId, in: isIn }) {
    const membership: ExpressionNode = {
      node: 'function',
      name: 'member_of',
      operands: [{ node: 'value', value: indexId }],
    };
    const value = useNumber(membership, 'index_id');
    const test = `${isIn ? 'a' : 'not a'} constituent of ${indexId}`;
    return {
      reads: [value],
      remembers: false,
      sentence: `Keep the securities that are ${isIn ? 'constituents' : 'not constituents'} of the index ${indexId} as last decided.`,
      select(scope) {
        const members = readValues(scope, value);
        return {
          kept: Uint8Array.from(members, (member) => ((member === 1) === isIn ? 1 : 0)),
          because: (position) => createReason(test, { value: members[position] === 1 }),
        };
      },
    };
  },
});
