import { locateInTexts } from '#domain/checks/document-expressions.js';
import { isName } from '#domain/datapoints/expressions/field-text.js';
import { printExpression } from '#domain/datapoints/expressions/print.js';
import { readExpression, type ParsedText } from '#domain/datapoints/expressions/read-text.js';
import { listCalls } from '#domain/datapoints/expressions/reads.js';
import type { ExpressionNode } from '#domain/datapoints/expressions/tree.js';
import { useNumber } from '#domain/datapoints/field-use.js';
import type { MarketData } from '#domain/market/market-data.js';
import type { Finding } from '#domain/refusals/findings.js';
import { assertNoErrors } from '#domain/refusals/refusal.js';
import { checkFields } from '#domain/rules/field-findings.js';

/**
 * Returns the datapoints that a request for a view of a run contains. Expressions are in their canonical form.
 * @throws Refusal VALIDATION_FAILED if a datapoint is unreadable, missing in the market or not numeric
 */
export function readFields(fields: readonly string[], market: MarketData): string[] {
  const recordFields = fields.map((text, k) => readField(text, market, `fields[${k}]`));
  assertNoErrors(
    'query',
    recordFields.flatMap(({ findings }) => findings),
  );
  return recordFields.map(({ text }) => text);
}

interface RecordField {
  readonly text: string;
  readonly findings: readonly Finding[];
}

function readField(text: string, market: MarketData, path: string): RecordField {
  if (isName(text, market)) {
    const use = useNumber(text);
    return { text, findings: checkFields([{ use, path, rowId: null }], market, 'error') };
  }
  const parsedText = readExpression(text, 'number');
  const problems = parsedText.problems.map((problem): Finding => ({ severity: 'error', path, ...problem }));
  if (parsedText.tree === undefined) return { text, findings: problems };
  const result = checkFields([{ use: useNumber(parsedText.tree), path, rowId: null }], market, 'error');
  const findings = locateInTexts(result, new Map<string, ParsedText>([[path, parsedText]]));
  return {
    text: printExpression(parsedText.tree),
    findings: [...findings, ...findDecisionFunctions(parsedText.tree, path)],
  };
}

/** Returns findings about functions in an expression that have values only in the decisions of an index. */
function findDecisionFunctions(tree: ExpressionNode, path: string): Finding[] {
  const call = listCalls(tree, new Map()).find(({ name }) =>
    ['is_constituent', 'member_of', 'weight_in'].includes(name),
  );
  if (call === undefined) return [];
  const message = `${call.name} is available only in the decisions of an index.`;
  return [{ severity: 'error', code: 'NOT_IN_CHOICES', path, message }];
}
