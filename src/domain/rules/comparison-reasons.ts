import type { CrossSection } from '../datapoints/cross-section.js';
import type { ComparisonReason } from './selection-class.js';
import { describeComparison } from '../datapoints/expressions/sentences.js';
import { listComparisons, type ExpressionNode } from '../datapoints/expressions/tree.js';
import { TRUE, UNKNOWN } from '../datapoints/expressions/truth-values.js';

/** Returns each comparison in a condition with the value of one security. */
export function listComparisonReasons(
  root: ExpressionNode,
  cross: CrossSection,
  { columns, position }: { readonly columns: Int32Array; readonly position: number },
): ComparisonReason[] {
  return listComparisons(root).map(({ node, path }) => {
    const truth = cross.truths(node, columns)[position]!;
    return {
      path,
      test: describeComparison(node),
      value: cross.values(node.field, columns)[position]!,
      outcome: truth === UNKNOWN ? null : truth === TRUE,
    };
  });
}
