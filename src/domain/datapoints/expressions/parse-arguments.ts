import { DATASETS, isWindowed, createLatestRequest, type Dataset } from '../field-request.js';
import { suggestName } from '#base/text/nearest-name.js';
import { createFieldNode } from './canonical.js';
import type { Cursor } from './cursor.js';
import { OPTION_NAMES } from './functions/function-entry.js';
import type { CharacterSpan, Token } from './lexer.js';
import type { ExpressionNode } from './tree.js';

/** Options of a call, written as name `=` value. */
export interface Options {
  by?: string;
  over?: 'selection' | 'universe';
  dataset?: Dataset;
  window?: number;
  lag?: number;
  low?: number;
  high?: number;
}

export interface Arguments {
  readonly operands: readonly ExpressionNode[];
  readonly options: Options;
  /** Position of each option in the text. */
  readonly spans: ReadonlyMap<string, CharacterSpan>;
}

/** Parses the operands and options of a call, after the opening bracket. @throws SyntaxFault */
export function parseArguments(cursor: Cursor, expression: (cursor: Cursor) => ExpressionNode): Arguments {
  const operands: ExpressionNode[] = [];
  const options: Options = {};
  const spans = new Map<string, CharacterSpan>();
  if (cursor.isSymbol(')')) return { operands, options, spans };
  do {
    if (cursor.peek().kind === 'name' && cursor.isSymbol('=', 1)) {
      const name = cursor.next();
      cursor.next();
      if (spans.has(name.text)) cursor.fail(`${name.text}= occurs twice`, name);
      readOption(cursor, name, options);
      spans.set(name.text, cursor.since(name.start));
    } else {
      if (spans.size > 0) cursor.fail('operands must come before the options');
      operands.push(expression(cursor));
    }
  } while (cursor.skips(','));
  return { operands, options, spans };
}

const ACCEPTED_OPTIONS: readonly string[] = [...OPTION_NAMES, 'dataset'];

function readOption(cursor: Cursor, name: Token, options: Options): void {
  const token = cursor.next();
  switch (name.text) {
    case 'by':
      if (token.kind !== 'name' && token.kind !== 'quoted' && token.kind !== 'string')
        cursor.fail('by= needs the name of a column', token);
      options.by = token.text;
      break;
    case 'over':
      options.over = readChoice(cursor, token, ['selection', 'universe']);
      break;
    case 'dataset':
      options.dataset = readChoice(cursor, token, DATASETS);
      break;
    case 'window':
    case 'lag':
    case 'low':
    case 'high':
      if (token.kind !== 'number') cursor.fail(`${name.text}= needs a number`, token);
      options[name.text] = Number(token.text);
      break;
    default:
      cursor.fail(
        `${name.text}= is not an option; the options are ${ACCEPTED_OPTIONS.join(', ')}.${suggestName(name.text, ACCEPTED_OPTIONS)}`,
        name,
      );
  }
}

function readChoice<T extends string>(cursor: Cursor, token: Token, choices: readonly T[]): T {
  const choiceRead = choices.find((choice) => choice === token.text);
  const acceptedChoices = choices.map((choice) => JSON.stringify(choice)).join(', ');
  return choiceRead ?? cursor.fail(`the accepted values are ${acceptedChoices}`, token);
}

/** Parses a datapoint with its options. @throws SyntaxFault for an option that the datapoint does not accept */
export function createFieldWithOptions(
  cursor: Cursor,
  { text: name }: Token,
  { options, spans }: Pick<Arguments, 'options' | 'spans'>,
): ExpressionNode {
  const { dataset = null, window = null, lag = 0 } = options;
  const isUsedOption = (option: string): boolean =>
    option === 'lag' || option === 'dataset' || (option === 'window' && isWindowed({ name, dataset }));
  for (const [option, span] of spans)
    if (!isUsedOption(option))
      cursor.fail(
        `the datapoint ${name} does not accept ${option}=; a datapoint accepts lag= and dataset=, and VOLATILITY, MOMENTUM and BETA also window=`,
        span,
      );
  return createFieldNode(createLatestRequest(name, { dataset, window, lag }));
}
