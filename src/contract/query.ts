import { z } from 'zod';
import { suggestName } from '#base/nearest-name.js';
import { callOnce } from '#base/once.js';
import { type Finding, keepSmallValue } from '#domain/base/findings.js';
import { Refusal, refuseWithFindings } from '#domain/base/refusals.js';
import { checkShape } from '#domain/base/schema.js';
import { defineQuery, type Route } from './route.js';

/** Reads the query of one route. */
type QueryReader = (search: string) => Record<string, unknown>;

type ValueKind = 'text' | 'number' | 'boolean' | 'list';

const NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;

/**
 * Creates the query reader of a route. It converts text to numbers, booleans and lists as the schema requires, and then
 * validates them. Unknown parameters are refused. The schema is created at the first query.
 * @throws Refusal VALIDATION_FAILED with one finding per invalid parameter
 */
export function createQueryReader(route: Route): QueryReader {
  if (route.openQuery === true) return () => ({});
  const getQuerySchema = callOnce((): z.ZodObject => defineQuery(route) ?? z.strictObject({}));
  const listKinds = callOnce(
    () => new Map(Object.entries(getQuerySchema().shape).map(([name, field]) => [name, getKind(field)])),
  );
  const parseEmpty = callOnce(() => getQuerySchema().safeParse({}));
  return (search) => {
    if (search === '' && parseEmpty().success) return parseEmpty().data!;
    const kinds = listKinds();
    const parameters = new URLSearchParams(search);
    const findings: Finding[] = [];
    const queryValues: Record<string, unknown> = {};
    for (const name of new Set(parameters.keys())) {
      const kind = kinds.get(name);
      if (kind === undefined) findings.push(createUnknownParameter(name, [...kinds.keys()]));
      else queryValues[name] = read(name, kind, parameters.getAll(name), findings);
    }
    const parsedQuery = checkShape(getQuerySchema(), queryValues);
    const reportedPaths = new Set(findings.map(({ path }) => path));
    findings.push(...parsedQuery.findings.filter(({ path }) => !reportedPaths.has(path)));
    if (findings.length > 0 || parsedQuery.value === undefined) throw refuseWithFindings('query', findings);
    return parsedQuery.value;
  };
}

/** Returns the type of a parameter, ignoring that it is optional, can be null or has a default. */
function getKind(field: z.core.$ZodType): ValueKind {
  if (
    field instanceof z.ZodOptional ||
    field instanceof z.ZodNullable ||
    field instanceof z.ZodDefault ||
    field instanceof z.ZodPrefault
  ) {
    return getKind(field.unwrap());
  }
  if (field instanceof z.ZodArray) return 'list';
  if (field instanceof z.ZodNumber) return 'number';
  return field instanceof z.ZodBoolean ? 'boolean' : 'text';
}

function read(name: string, kind: ValueKind, texts: string[], findings: Finding[]): unknown {
  if (kind === 'list') return [...new Set(texts.flatMap(splitItems))];
  const [text = ''] = texts;
  const addFinding = (message: string, value: unknown) => {
    findings.push({ severity: 'error', code: 'WRONG_TYPE', message, path: name, ...keepSmallValue(value) });
  };
  if (texts.length > 1) {
    addFinding(`${name} occurs ${texts.length} times; it can occur only once.`, texts);
  } else if (kind === 'number' && !NUMBER.test(text)) {
    addFinding(`${name} must be a number, not ${JSON.stringify(text.slice(0, 80))}.`, text);
  } else if (kind === 'boolean' && text !== 'true' && text !== 'false') {
    addFinding(`${name} must be true or false, not ${JSON.stringify(text.slice(0, 80))}.`, text);
  }
  if (kind === 'number') return Number(text);
  return kind === 'boolean' ? text === 'true' : text;
}

function createUnknownParameter(name: string, acceptedNames: readonly string[]): Finding {
  const acceptedText = acceptedNames.length > 0 ? `it accepts ${acceptedNames.join(', ')}` : 'it accepts none';
  return {
    severity: 'error',
    code: 'UNKNOWN_FIELD',
    message: `The route has no query parameter ${name.slice(0, 80)}; ${acceptedText}.${suggestName(name, acceptedNames)}`,
    path: name.slice(0, 80),
    accepted: acceptedNames,
  };
}

/** Matches brackets, quoted texts and commas. A comma inside brackets or quotes does not separate items. */
const ENCLOSED_TEXT = /"(?:[^"\\]|\\.)*"|`[^`]*`|[()[\],]/g;

/** Splits a list at commas. Commas inside the brackets and quoted texts of expressions are ignored. */
function splitItems(text: string): string[] {
  const items: string[] = [];
  let [start, depth] = [0, 0];
  for (const { 0: enclosedText, index } of text.matchAll(ENCLOSED_TEXT)) {
    if (enclosedText === '(' || enclosedText === '[') depth++;
    else if (enclosedText === ')' || enclosedText === ']') depth--;
    if (depth < 0) return text.split(',');
    if (enclosedText !== ',' || depth > 0) continue;
    items.push(text.slice(start, index));
    start = index + 1;
  }
  return depth === 0 ? [...items, text.slice(start)] : text.split(',');
}

/** Returns the checked parameters of a path. @throws Refusal INVALID_IDENTIFIER */
export function readParams({ params }: Route, getText: (name: string) => string | undefined): Record<string, unknown> {
  if (params === undefined) return {};
  const texts = Object.fromEntries(Object.keys(params.shape).map((name) => [name, getText(name) ?? '']));
  const { value, findings } = checkShape(params, texts);
  if (value !== undefined) return value;
  throw new Refusal('INVALID_IDENTIFIER', findings.map(({ message }) => message).join(' '), { findings });
}
