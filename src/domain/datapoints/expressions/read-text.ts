import type { Finding } from '../../refusals/findings.js';
import { checkTree, type UnitsByName, type NodeProblem } from './check.js';
import { checkSize } from './expression.js';
import { SyntaxFault, type CharacterSpan } from './lexer.js';
import { parseExpression } from './parse.js';
import { listChildren, type ExpressionNode } from './tree.js';
import { formatUnit } from './units.js';

export type ExpectedKind = 'number' | 'condition';

/** Problem in a text, with its position. */
export type TextProblem = Pick<Finding, 'code' | 'message' | 'accepted' | 'value' | 'position'>;

/** Text with the expression parsed from it. */
export interface ParsedText {
  readonly text: string;
  /** Parsed tree; undefined if there is a problem. */
  readonly tree: ExpressionNode | undefined;
  readonly problems: readonly TextProblem[];
  /** Unit of the values in words. Null if it is unknown. */
  readonly unit: string | null;
  /** Returns the position of the first occurrence of a datapoint. */
  spanOf(name: string): CharacterSpan | undefined;
}

/** Parses a text and reports all of its problems. @param unitsByName units of datapoints by name */
export function readExpression(text: string, expected: ExpectedKind, unitsByName?: UnitsByName): ParsedText {
  const emptyResult = { text, tree: undefined, unit: null, spanOf: () => undefined };
  try {
    const { tree, spans } = parseExpression(text);
    const findSpan = (node: ExpressionNode): CharacterSpan => spans.get(node) ?? { start: 0, end: text.length };
    const checkedTree = checkTree(tree, expected, unitsByName);
    const problems = [
      ...checkSize(tree).map(({ code, message }) => ({
        code,
        message: `The expression ${message}.`,
        position: findSpan(tree),
      })),
      ...checkedTree.problems.map((problem) => locateProblem(text, problem, findSpan(problem.node))),
    ];
    if (problems.length > 0) return { ...emptyResult, problems };
    return {
      text,
      tree,
      problems,
      unit: formatUnit(checkedTree.unit),
      spanOf: (name) => findFieldSpan(tree, name, spans),
    };
  } catch (error) {
    if (!(error instanceof SyntaxFault)) throw error;
    const { message, span } = error;
    const location = `At character ${span.start + 1} of the expression`;
    return {
      ...emptyResult,
      problems: [
        { code: 'BAD_EXPRESSION', message: `${location}, ${message}.`, position: { start: span.start, end: span.end } },
      ],
    };
  }
}

/** Maximum length of a part of a text that a message quotes. */
const QUOTED_MAX = 80;

function locateProblem(text: string, { code, message, accepted }: NodeProblem, position: CharacterSpan): TextProblem {
  const excerpt = text.slice(position.start, position.end);
  const shortExcerpt = excerpt.length > QUOTED_MAX ? `${excerpt.slice(0, QUOTED_MAX)}...` : excerpt;
  const reportText = `${shortExcerpt} ${message}${/[.?]$/.test(message) ? '' : '.'}`;
  return { code, message: reportText, position, ...(accepted === undefined ? {} : { accepted }) };
}

function findFieldSpan(
  node: ExpressionNode,
  name: string,
  spans: ReadonlyMap<ExpressionNode, CharacterSpan>,
): CharacterSpan | undefined {
  if (node.node === 'field' && node.name === name) return spans.get(node);
  if (node.node === 'function' && node.by === name) return spans.get(node);
  for (const { child } of listChildren(node)) {
    const result = findFieldSpan(child, name, spans);
    if (result !== undefined) return result;
  }
  return undefined;
}
