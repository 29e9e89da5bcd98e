import { suggestName } from '#base/nearest-name.js';
import type { Route } from '#contract/route.js';
import { type ListedTool, WAIT_TOOL } from '#contract/tools.js';
import type { Finding } from '#domain/base/findings.js';
import { refuseWithFindings } from '#domain/base/refusals.js';
import { formatDay, parseDay } from '#domain/base/time.js';
import type { ToolArguments, ToolResult } from './tools.js';

/** Tool of the short list. Its annotations are only those that differ from the defaults of the protocol. */
type ShortTool = Pick<ListedTool, 'name' | 'description' | 'inputSchema'> & {
  readonly annotations?: { readonly readOnlyHint: true };
};

/** Calls operations for a tool. */
export interface TaskContext {
  /** Calls an operation by its name. A job that it starts is awaited. @throws Refusal */
  call(name: string, argumentValues: ToolArguments): Promise<ToolResult>;
  /** Calls an operation by its name without waiting. @throws Refusal */
  callOperation(name: string, argumentValues: ToolArguments): Promise<ToolResult>;
  describe(name: string): Promise<ListedTool & { readonly scope: string }>;
  /** Operations that the client may call. */
  readonly operations: readonly (readonly [name: string, route: Route])[];
}

interface ShortEntry {
  readonly tool: ShortTool;
  /** Names of operations that the tool calls. The client must have their permissions. */
  readonly operations: readonly string[];
  run(argumentValues: ToolArguments, context: TaskContext): Promise<ToolResult>;
}

/** Maximum length of a query. Each of its words is compared with each word of all operations. */
const QUERY_LENGTH_MAX = 500;

const TEXT = { type: 'string' };
const OBJECT = { type: 'object' };
const PROPERTIES = {
  index_id: TEXT,
  run_id: TEXT,
  benchmark: TEXT,
  start: TEXT,
  end: TEXT,
  date: TEXT,
  as_of: TEXT,
  by: TEXT,
  risk_model: TEXT,
  body: OBJECT,
  document: OBJECT,
  request: OBJECT,
  arguments: OBJECT,
  query: { ...TEXT, maxLength: QUERY_LENGTH_MAX },
  name: TEXT,
  text: TEXT,
  job_id: TEXT,
  seconds: { type: 'number' },
  ids: { type: 'array', items: TEXT },
} as const;
type PropertyName = keyof typeof PROPERTIES;

/** Declares a tool. A name with a question mark is optional. */
function declare(name: string, description: string, argumentNames: string, isReading: boolean): ShortTool {
  const names = argumentNames.split(' ').filter((word) => word !== '');
  const required = names.filter((word) => !word.endsWith('?'));
  return {
    name,
    description,
    inputSchema: {
      type: 'object',
      properties: Object.fromEntries(
        names.map((word) => word.replace('?', '')).map((word) => [word, PROPERTIES[word as PropertyName]]),
      ),
      ...(required.length > 0 && { required }),
    },
    ...(isReading && { annotations: { readOnlyHint: true } }),
  };
}

/** Maximum number of operations that a search returns. */
const FOUND_MAX = 20;

/** Tools by which an agent reaches every operation. */
const GENERAL_TOOLS: readonly ShortEntry[] = [
  {
    tool: declare('findOperations', 'Searches all operations of the service, best first.', 'query', true),
    operations: [],
    run: async ({ query }, { operations }) =>
      toResult({ operations: rankOperations(readQuery(query), operations).slice(0, FOUND_MAX) }),
  },
  {
    tool: declare('describeOperation', 'Arguments (JSON Schema), limits and example of an operation.', 'name', true),
    operations: [],
    run: async ({ name }, { describe }) => toResult(await describe(readText('name', name))),
  },
  {
    tool: declare(
      'callOperation',
      'Calls an operation with the arguments that describeOperation lists.',
      'name arguments?',
      false,
    ),
    operations: [],
    run: ({ name, arguments: argumentValues = {} }, { callOperation }) =>
      callOperation(readText('name', name), readObject('arguments', argumentValues)),
  },
  {
    tool: declare(
      WAIT_TOOL,
      'Waits for a job, up to 50 seconds, and returns its status and result.',
      'job_id seconds?',
      true,
    ),
    operations: [],
    run: (argumentValues, { callOperation }) => callOperation(WAIT_TOOL, argumentValues),
  },
  {
    tool: declare(
      'verifyText',
      'Checks each number of a Markdown text against its footnote "[^1]: SOURCE#/json/pointer", SOURCE as in results. Use before you answer.',
      'text',
      true,
    ),
    operations: ['verifyText'],
    run: ({ text }, { call }) => call('verifyText', { body: { text } }),
  },
];

/** Task that is one operation and the wait for its job. */
const createTask = (
  name: string,
  description: string,
  argumentNames: string,
  operation: string,
  isReading = false,
): ShortEntry => ({
  tool: declare(name, description, argumentNames, isReading),
  operations: [operation],
  run: (argumentValues, { call }) => call(operation, argumentValues),
});

/** Tools for whole tasks. `body` is that of the operation whose name the description states. */
const TASK_TOOLS: readonly ShortEntry[] = [
  {
    tool: declare(
      'backtestDocument',
      'Stores an index document (putIndex), backtests it (request as startBacktest) and returns the overview of the run.',
      'document request?',
      false,
    ),
    operations: ['putIndex', 'startBacktest', 'getOverview'],
    async run({ document, request = {} }, { call }) {
      const indexDocument = readObject('document', document);
      const index_id = readText('document.id', indexDocument['id']);
      const stored = await call('putIndex', { index_id, body: indexDocument });
      if (stored.isError === true) return stored;
      const run = await call('startBacktest', { index_id, body: readObject('request', request) });
      return run.isError === true || !isDone(run) ? run : call('getOverview', { index_id });
    },
  },
  {
    tool: declare(
      'explainLevel',
      'Level of an index on a date, and the contributions of its securities that day.',
      'index_id date run_id?',
      true,
    ),
    operations: ['getLevels', 'getAttribution'],
    async run({ index_id, date, run_id }, { call }) {
      const run = run_id === undefined ? {} : { run_id };
      const day = readText('date', date);
      const level = await call('getLevels', { index_id, ...run, start: findEarlierDay(day), end: day });
      const [previous, last] = listDates(level).slice(-2);
      if (last === undefined) return level;
      return joinResults([level, await call('getAttribution', { index_id, ...run, start: previous, end: last })]);
    },
  },
  createTask(
    'compareIndices',
    'Compares stored runs over their common dates.',
    'ids benchmark? start? end?',
    'compareRuns',
    true,
  ),
  {
    tool: declare(
      'attributeReturn',
      'Return of an index from the close of start, by security; with by (SECTOR) or benchmark, by group.',
      'index_id by? benchmark? start? end? run_id?',
      true,
    ),
    operations: ['getAttribution', 'getGroupAttribution'],
    run: (argumentValues, { call }) =>
      call(
        argumentValues['by'] === undefined && argumentValues['benchmark'] === undefined
          ? 'getAttribution'
          : 'getGroupAttribution',
        argumentValues,
      ),
  },
  createTask(
    'optimise',
    'Optimises weights under constraints and waits (body of startOptimisation).',
    'body',
    'startOptimisation',
  ),
  createTask(
    'explainInfeasibility',
    'Solves (body of startOptimisation); if infeasible, error.detail has the conflict and the smallest changes that resolve it.',
    'body',
    'startOptimisation',
  ),
  createTask(
    'estimateRisk',
    'Forecast risk of an index and what contributes to it.',
    'index_id as_of? risk_model? run_id?',
    'getTotalRisk',
    true,
  ),
  createTask(
    'explainDifference',
    'Finds why an outside level series differs from a run, and waits.',
    'index_id body',
    'explainDifference',
  ),
  createTask('report', 'Renders a report as a PDF and waits (body of renderReport).', 'body', 'renderReport'),
  createTask('importData', 'Imports tables into a new data store (body of importStore).', 'body', 'importStore'),
];

/** Lists the tools of the short list that a client may call with the operations that it may call. */
export function listShortTools(operations: TaskContext['operations']): readonly ShortEntry[] {
  const names = new Set(operations.map(([name]) => name));
  return [...GENERAL_TOOLS, ...TASK_TOOLS].filter((entry) => entry.operations.every((name) => names.has(name)));
}

const toResult = (value: unknown): ToolResult => ({ content: [{ type: 'text', text: JSON.stringify(value) }] });

/** Days before a date within which every exchange has a session. */
const CLOSED_DAYS_MAX = 14;

/** Returns a day some sessions earlier; the date itself if it is no date, so that the operation refuses it. */
function findEarlierDay(date: string): string {
  const day = parseDay(date);
  return day === undefined ? date : formatDay(day - CLOSED_DAYS_MAX);
}

/** Returns the dates of a levels view; none for an error. */
function listDates({ isError, content: [first] }: ToolResult): readonly string[] {
  if (isError === true || first?.type !== 'text') return [];
  return (JSON.parse(first.text) as { readonly levels: { readonly index: readonly string[] } }).levels.index;
}

/** Joins the results of several operations. The source of the first is the source of all; each text names its own. */
function joinResults(results: readonly ToolResult[]): ToolResult {
  const [first] = results;
  const failed = results.find(({ isError }) => isError === true);
  return failed ?? { ...first!, content: results.flatMap(({ content }) => content) };
}

/** Returns true if the awaited job of a result has succeeded. */
function isDone({ content: [first] }: ToolResult): boolean {
  return first?.type === 'text' && /"status":"succeeded"/.test(first.text.slice(0, 2000));
}

function readText(path: string, value: unknown): string {
  if (typeof value === 'string' && value !== '') return value;
  throw refuseArgument(path, value, 'a text');
}

function readQuery(value: unknown): string {
  const query = readText('query', value);
  if (query.length <= QUERY_LENGTH_MAX) return query;
  const message = `query has ${query.length} characters; at most ${QUERY_LENGTH_MAX} are accepted.`;
  throw refuseWithFindings('arguments', [{ severity: 'error', code: 'OUT_OF_RANGE', path: 'query', message }]);
}

function readObject(path: string, value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw refuseArgument(path, value, 'an object');
}

function refuseArgument(path: string, value: unknown, expected: string) {
  const message = `${path} must be ${expected}, not ${JSON.stringify(value)?.slice(0, 80) ?? 'absent'}.`;
  const finding: Finding = { severity: 'error', code: value === undefined ? 'REQUIRED' : 'WRONG_TYPE', path, message };
  return refuseWithFindings('arguments', [finding]);
}

/** Refuses an operation that does not exist or that the client may not call. */
export function refuseOperation(name: string, names: readonly string[]) {
  const shortName = name.slice(0, 80);
  const message = `There is no operation ${shortName}.${suggestName(shortName, names)}`;
  return refuseWithFindings('arguments', [{ severity: 'error', code: 'NOT_IN_CHOICES', path: 'name', message }]);
}

interface FoundOperation {
  readonly name: string;
  readonly sentence: string;
  readonly scope: string;
}

/** Words of a question that say nothing about an operation. */
const STOP_WORDS = new Set(
  'a an the of for to in on at as and or if how do does did i what when where which who why is are was were be it its this that with from by my all get list show me'.split(
    ' ',
  ),
);

/**
 * Ranks operations by the words that they share with a query. A word of the name counts three times, a word of the
 * summary twice, and a word of few operations more than one of many: most summaries begin with `Returns`. Words match by their first letters, so that `weights` finds `weight`.
 */
function rankOperations(query: string, operations: TaskContext['operations']): FoundOperation[] {
  const words = [...new Set(listWords(query))];
  const wanted = words.filter((word) => !STOP_WORDS.has(word));
  const counted = wanted.length > 0 ? wanted : words;
  const matches = operations.map(([name, route]) => {
    const { summary, description = '', path, tag } = route;
    const parts = [
      [listWords(name), 3],
      [listWords(summary), 2],
      [listWords(`${path} ${tag}`), 2],
      [listWords(description), 1],
    ] as const;
    return counted.map((word) =>
      Math.max(0, ...parts.map(([texts, weight]) => (texts.some((text) => sharesStem(text, word)) ? weight : 0))),
    );
  });
  const rarities = counted.map((_, i) => {
    const count = matches.filter((weights) => weights[i]! > 0).length;
    return Math.log(1 + operations.length / Math.max(1, count));
  });
  const ranked = operations.map(([name, { summary, scope }], position) => {
    const isNamed = name.toLowerCase() === query.trim().toLowerCase();
    const score = matches[position]!.reduce((sum, weight, i) => sum + weight * rarities[i]!, isNamed ? 1000 : 0);
    return { position, score, found: { name, sentence: summary, scope } };
  });
  return ranked
    .filter(({ score }) => score > 0)
    .toSorted((a, b) => b.score - a.score || a.position - b.position)
    .map(({ found }) => found);
}

/** Splits names such as `getGroupAttribution` and sentences into words. */
const listWords = (text: string): string[] =>
  text
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .match(/[a-z]+/g) ?? [];

/** Returns true if two words begin with the same letters and differ only in a short ending. */
function sharesStem(a: string, b: string): boolean {
  if (a === b) return true;
  const length = Math.min(a.length, b.length);
  if (length < 4) return false;
  let shared = 0;
  while (shared < length && a[shared] === b[shared]) shared++;
  return shared >= Math.max(4, Math.max(a.length, b.length) - 4);
}
