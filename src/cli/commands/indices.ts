import { readFile } from 'node:fs/promises';
import type {
  IndexDocumentBody,
  IndexExplanation,
  MethodologyTemplateDetail,
  PluginUpsert,
  SavedIndex,
  StrategyDocumentInput,
} from '#clients/typescript/divisor.js';
import type { DocumentChange } from '#domain/base/json.js';
import { formatCount } from '#domain/base/numbers.js';
import { formatTable } from '../terminal.js';
import { UsageError } from '../usage.js';
import { readJsonFile } from './command-line.js';
import { NOTE } from './documents.js';
import {
  AS_KNOWN_FLAGS,
  createOperationCommand,
  createOperationView,
  createViewCommand,
  type JobCommand,
  readAsKnownOn,
} from './job-command.js';

const INDEX = { name: 'INDEX', help: 'Id of a stored index.' };
const AS_OF = { 'as-of': { value: 'DATE', help: 'Date. Default: the latest date.' } } as const;

const list = createOperationView({
  operation: 'listIndices',
  summary: 'List the stored indices.',
  examples: ['divisor index list'],
  records: (result) => result.indices,
});

const show = createOperationCommand({
  operation: 'getIndex',
  summary: 'Print the definition of an index as JSON.',
  words: [INDEX],
  examples: ['divisor index show CORE-100 --out core.json'],
  show: (document) => `${JSON.stringify(document, null, 2)}\n`,
});

const put: JobCommand<SavedIndex> = {
  summary: 'Store the definition of an index under its id.',
  words: [{ name: 'FILE', help: 'Index document as JSON; - reads standard input.' }],
  flags: NOTE,
  examples: ['divisor index put core.json', 'divisor index put core.json --note "Cap lowered to 5%"'],
  async submit(client, [file = ''], flags) {
    const body = await readJsonFile<IndexDocumentBody>(file);
    const request = { params: { index_id: String(body.id) }, body, note: flags.text('note') };
    return { result: await client.call('putIndex', request) };
  },
  show: formatSavedText,
};

function formatSavedText({ index, findings }: SavedIndex): string {
  return formatTable([
    ['stored', index.id],
    ...findings.map(({ severity, code, path, message }) => [severity, `${code} ${path}: ${message}`]),
  ]);
}

const diff = createViewCommand({
  summary: 'Compare the stored definition of an index with a definition in a file.',
  words: [INDEX, { name: 'FILE', help: 'Index document as JSON; - reads standard input.' }],
  examples: ['divisor index diff CORE-100 core.json'],
  async ask(client, [index_id = '', file = '']) {
    const [stored, written, { parseAcceptedIndex: parseIndex }, { listChanges: listDocumentChanges }] =
      await Promise.all([
        client.call('getIndex', { params: { index_id } }),
        readJsonFile<unknown>(file),
        // This module imports every class of rules. No other command needs it.
        import('#domain/definition/index-validation.js'),
        import('#domain/base/json.js'),
      ]);
    const document = parseIndex(written);
    if (document === undefined)
      throw new UsageError(`${file} is not an index document; divisor index put reports its errors`);
    return listDocumentChanges(stored, document).map(formatChange);
  },
  records: (changes) => changes,
  columns: ['path', 'stored', 'file'],
});

/** Formats both sides of a change as JSON. A side that lacks the member is null. */
const formatChange = ({ path, op, before, after }: DocumentChange) => ({
  path,
  stored: op === 'add' ? null : JSON.stringify(before),
  file: op === 'remove' ? null : JSON.stringify(after),
});

const preview = createViewCommand({
  summary: 'Print the constituents and weights of an index on a date.',
  words: [INDEX],
  flags: { ...AS_OF, 'as-known-on': AS_KNOWN_FLAGS['as-known-on'] },
  examples: [
    'divisor index preview CORE-100 --as-of 2024-06-28',
    'divisor index preview CORE-100 --as-of 2024-06-28 --as-known-on 2024-07-01',
  ],
  ask: (client, [index_id = ''], flags) =>
    client.call('previewIndex', {
      params: { index_id },
      body: { as_of: flags.text('as-of') ?? null, ...readAsKnownOn(flags) },
    }),
  records: ({ assets, weights }) =>
    Object.entries(weights).map(([identifier, weight]) => ({
      identifier,
      weight,
      ...selectScalars(assets.find((asset) => asset.identifier === identifier) ?? {}),
    })),
  /** Returns only findings about a date that the data does not reach. A run reports all other findings. */
  notices: ({ findings }) =>
    findings.filter(({ path }) => path === 'as_of').map(({ code, path, message }) => `${code} ${path}: ${message}`),
});

const versions = createOperationView({
  operation: 'listIndexVersions',
  summary: 'List the versions of an index definition: author, time and note.',
  words: [INDEX],
  fixed: { limit: 1000 },
  examples: ['divisor index versions CORE-100'],
  records: (result) => result.versions,
  columns: ['version', 'action', 'at', 'author', 'note'],
});

const restore = createOperationCommand({
  operation: 'restoreIndexVersion',
  summary: 'Restore a version of the definition of an index.',
  words: [INDEX, { name: 'VERSION', help: 'Number of the version.' }],
  flags: NOTE,
  examples: ['divisor index restore CORE-100 3'],
  show: formatSavedText,
});

const selectScalars = (record: object) =>
  Object.fromEntries(Object.entries(record).filter(([, value]) => value === null || typeof value !== 'object'));

const explain = createOperationCommand({
  operation: 'explainName',
  summary: 'Explain why an index contains or excludes a security.',
  words: [INDEX, { name: 'NAME', help: 'Identifier of the security.' }],
  flags: AS_OF,
  examples: ['divisor index explain CORE-100 AAPL'],
  show: formatExplanation,
});

const formatWeight = (weight: number | null): string => (weight === null ? '-' : `${(100 * weight).toFixed(4)}%`);

/** Formats why a security is in an index or not: each rule, then the steps from the raw weight to the held weight. */
function formatExplanation(explained: IndexExplanation): string {
  const {
    identifier,
    index_id: id,
    as_of: asOf,
    included,
    excluded_by: rule,
    rules,
    datapoints,
    derivation,
  } = explained;
  const place = explained.in_universe ? '' : ': it is not in the universe';
  const cause = rule === null ? place : `: the rule ${rule} excludes it`;
  return [
    `${identifier} is ${included ? '' : 'not '}in ${id} on ${asOf}${cause}`,
    formatTable([
      ['composition', `in force from ${explained.rebalance_date}, decided on ${explained.decision_date}`],
      ...rules.map((step) => ['rule', formatRule(step)]),
      ...datapoints.map(({ field, value, known_from: knownFrom }) => [
        field,
        `${value ?? '-'}${knownFrom === null ? '' : `, known since ${knownFrom}`}`,
      ]),
      ...(derivation === null
        ? []
        : [
            [
              'derived from',
              `${derivation.source_index_id}, its weight there ${formatWeight(derivation.source_weight)}`,
            ],
          ]),
      ...formatWeighting(explained).map((step) => ['', step]),
      ['weight', formatWeight(explained.weight)],
      ['held weight', `${formatWeight(explained.held_weight)} at the close of ${asOf}`],
      ...(['entered', 'left'] as const).flatMap((name) => {
        const change = explained[name];
        return change === null ? [] : [[name, formatMove(change)]];
      }),
      ...(explained.order === null
        ? []
        : [
            [
              'order',
              `${explained.order.side} to ${formatWeight(explained.order.target_weight)}: ${explained.order.reason}`,
            ],
          ]),
    ]),
  ].join('\n');
}

function formatRule({
  rule_id: id,
  kept,
  test,
  value,
  threshold,
  rank,
  cutoff,
}: IndexExplanation['rules'][number]): string {
  return [
    `${id} ${kept ? 'keeps' : 'excludes'} it: ${test}`,
    ...(value === null ? [] : [`value ${value}`]),
    ...(threshold === null ? [] : [`bound ${threshold}`]),
    ...(rank === null ? [] : [`rank ${rank}${cutoff === null ? '' : ` of ${cutoff}`}`]),
  ].join(', ');
}

/** Formats the steps from the formula of the weighting to the capped weight. */
function formatWeighting({ weighting, capping, stayed }: IndexExplanation): string[] {
  if (weighting === null) return [];
  const { type, formula, parts, raw, raw_total: total, uncapped_weight: uncapped } = weighting;
  const values = Object.entries(parts).map(([name, value]) => `${name} = ${value ?? '-'}`);
  return [
    [`${type}: raw weight ${formula} = ${raw}`, ...values].join(', '),
    `${raw} / ${total}, the sum of all raw weights, = ${formatWeight(uncapped)}`,
    ...(capping === null || (capping.cap === null && capping.floor === 0)
      ? []
      : [
          `cap ${formatWeight(capping.cap)}, floor ${formatWeight(capping.floor)}, scale ${capping.scale}${capping.capped ? ': capped' : ''}`,
        ]),
    ...(stayed === 1 ? [] : [`divided by ${stayed}, the fraction of the decided weights that is still held`]),
  ];
}

const formatMove = ({ date, event, weight, price, currency }: NonNullable<IndexExplanation['entered']>): string =>
  `${date}, by ${event.replaceAll('_', ' ')}, with ${formatWeight(weight)} at ${price} ${currency}`;

const methodology = createOperationView({
  operation: 'getMethodology',
  summary: 'Print the methodology of an index in numbered sentences.',
  words: [INDEX],
  examples: ['divisor index methodology CORE-100'],
  records: ({ sentences }) => sentences,
  columns: ['number', 'text'],
});

/** Appends an amendment to a stored definition. Fails if the definition was changed since it was read. */
const amend: JobCommand<SavedIndex> = {
  summary: 'Change the methodology of an index from a date. The earlier history does not change.',
  words: [
    { name: 'INDEX', help: 'Id of a stored index.' },
    { name: 'FILE', help: 'Changed members as a JSON merge patch of the definition; - reads standard input.' },
  ],
  flags: {
    from: {
      value: 'DATE',
      help: 'Date of the change (required). It applies from the first review on or after this date.',
    },
    announced: { value: 'DATE', help: 'Date on which clients were informed.' },
    reason: { value: 'TEXT', help: 'Reason, for the methodology. It is also the note if --note is omitted.' },
    rebalance: { type: 'boolean', help: 'Rebalance on the first session on or after the date.' },
    ...NOTE,
  },
  examples: [
    'divisor index amend CORE-100 changes.json --from 2026-03-20 --announced 2026-02-16 --reason "Cap lowered to 5%"',
  ],
  async submit(client, [index_id = '', file = ''], flags) {
    const effectiveFrom = flags.text('from');
    if (effectiveFrom === undefined) throw new UsageError('divisor index amend requires --from');
    const reason = flags.text('reason');
    const announcementDate = flags.text('announced');
    const amendment = {
      effective_from: effectiveFrom,
      ...(announcementDate !== undefined && { announced: announcementDate }),
      ...(reason !== undefined && { reason }),
      ...(flags.isSet('rebalance') === true && { rebalance: true }),
      changes: await readJsonFile<Record<string, unknown>>(file),
    };
    const { answer, etag } = await client.callWithEtag('getIndex', { params: { index_id } });
    const { amendments = [], ...definition } = answer;
    const body = {
      ...definition,
      amendments: [...amendments, amendment].toSorted((a, b) => (a.effective_from < b.effective_from ? -1 : 1)),
    } as IndexDocumentBody; // The service validates the changes.
    const note = flags.text('note') ?? reason;
    const request = { params: { index_id }, body, note, ifMatch: etag ?? undefined };
    return { result: await client.call('putIndex', request) };
  },
  show: formatSavedText,
};

const plugins = createOperationView({
  operation: 'listPlugins',
  summary: 'List the plug-ins.',
  examples: ['divisor plugin list'],
  records: (result) =>
    result.plugins.map(({ plugin_id, name, kind, inputs, sha256, updated_at }) => ({
      plugin_id,
      name,
      kind,
      inputs: Object.keys(inputs).join(' '),
      sha256,
      updated_at,
    })),
  columns: ['plugin_id', 'name', 'kind', 'inputs', 'updated_at'],
});

const putPlugin = createViewCommand({
  summary: 'Store a plug-in: a datapoint, a selection rule or a weighting in JavaScript.',
  words: [
    { name: 'ID', help: 'Id of the plug-in.' },
    { name: 'FILE', help: 'JSON with name, kind, inputs, parameters and source; - reads standard input.' },
  ],
  flags: {
    source: { value: 'FILE', help: 'JavaScript file with the source. Default: the source in the JSON.' },
    ...NOTE,
  },
  examples: ['divisor plugin put near-high near-high.json --source near-high.js'],
  async ask(client, [plugin_id = '', file = ''], flags) {
    const terms = await readJsonFile<PluginUpsert>(file);
    const source = flags.text('source');
    const body = source === undefined ? terms : { ...terms, source: await readText(source) };
    return client.call('putPlugin', { params: { plugin_id }, body, note: flags.text('note') });
  },
  records: ({ plugin_id, kind, sha256 }) => [{ plugin_id, kind, sha256 }],
});

const readText = (path: string): Promise<string> =>
  readFile(path, 'utf8').catch(() => Promise.reject(new UsageError(`there is no file ${path}`)));

const strategies = createOperationView({
  operation: 'listStrategies',
  summary: 'List the strategies.',
  examples: ['divisor strategy list'],
  records: (answer) => answer.strategies.map(({ strategy, problems }) => ({ ...strategy, problems: problems.length })),
  columns: ['id', 'name', 'index_id', 'benchmark', 'start', 'end', 'problems'],
});

const putStrategy = createViewCommand({
  summary: 'Store a strategy under its id; divisor backtest runs it.',
  words: [{ name: 'FILE', help: 'Strategy as JSON; - reads standard input.' }],
  flags: NOTE,
  examples: ['divisor strategy put yearly.json'],
  async ask(client, [file = ''], flags) {
    const body = await readJsonFile<StrategyDocumentInput>(file);
    return client.call('putStrategy', { params: { strategy_id: String(body.id) }, body, note: flags.text('note') });
  },
  records: ({ strategy: { id, name, index_id } }) => [{ id, name, index_id }],
  notices: ({ findings }) => findings.map(({ code, path, message }) => `${code} ${path}: ${message}`),
});

const templates = createOperationView({
  operation: 'listMethodologyTemplates',
  summary: 'List the templates of published methodologies, and whether the served store can run them.',
  examples: ['divisor index templates'],
  records: (result) =>
    result.templates.map(({ id, title, can_run, needs }) => ({
      id,
      title,
      can_run,
      missing: needs
        .filter(({ missing }) => missing)
        .map(({ name }) => name)
        .join(' '),
    })),
});

const create: JobCommand<{
  readonly saved: readonly SavedIndex[];
  /** Reasons why the template cannot run on the served store. */
  readonly findings: MethodologyTemplateDetail['findings'];
}> = {
  summary: 'Create an index from a published methodology, with the indices that it needs.',
  flags: {
    from: { value: 'NAME', help: 'Id of a template, as listed by divisor index templates.' },
    id: {
      value: 'ID',
      help: 'Id of the index, and prefix of the ids of its other documents. Default: the ids of the template.',
    },
    'base-date': {
      value: 'DATE',
      help: 'Base date. Default: the first date, at least one year after the start of the served store, on which the rules have their data.',
    },
    ...NOTE,
  },
  examples: ['divisor index new --from low-volatility', 'divisor index new --from low-volatility --id CALM-100'],
  async submit(client, _words, flags) {
    const from = flags.text('from');
    if (from === undefined) throw new UsageError('--from NAME is required; divisor index templates lists the names');
    const { documents, findings } = await client.call('getMethodologyTemplate', {
      params: { methodology_id: from },
      query: { index_id: flags.text('id'), base_date: flags.text('base-date') },
    });
    const usedIds = new Set((await client.call('listIndices', {})).indices.map(({ id }) => id));
    const usedTemplateIds = documents.map(({ id }) => String(id)).filter((id) => usedIds.has(id));
    if (usedTemplateIds.length > 0)
      throw new UsageError(`already stored: ${usedTemplateIds.join(', ')}; choose another id with --id`);
    const savedIndices: SavedIndex[] = [];
    for (const body of documents)
      savedIndices.push(await client.call('createIndex', { body: body as never, note: flags.text('note') })); // The service wrote the document.
    return { result: { saved: savedIndices, findings } };
  },
  show: ({ saved, findings: templateFindings }) =>
    formatTable([
      ...saved.flatMap(({ index, findings }) => [['stored', index.id], ...findings.map(formatFinding)]),
      ...templateFindings.map(formatFinding),
    ]),
};

const formatFinding = ({ severity, code, path, message }: MethodologyTemplateDetail['findings'][number]): string[] => [
  severity,
  `${code} ${path}: ${message}`,
];

const removeIndex = createOperationCommand({
  operation: 'deleteIndex',
  summary: 'Delete an index and its results. Its versions are kept and can be restored.',
  words: [{ name: 'INDEX', help: 'Id of a stored index.' }],
  flags: {
    ...NOTE,
    purge: { type: 'boolean', help: 'Also remove every version. This requires a key with the scope admin.' },
  },
  examples: ['divisor index delete OLD-100 --note "Replaced by CORE-100"', 'divisor index delete TRY --purge'],
  show: ({ deleted }) => formatTable([['deleted', deleted.join(' ') || 'its versions']]),
});

const statement = createOperationView({
  operation: 'getStatement',
  summary: 'Print the benchmark statement of an index. --out FILE.md writes the text for publication.',
  words: [INDEX],
  examples: ['divisor index statement CORE-100 --out core-100.md'],
  records: ({ methodology, limitations, inputs }) => [
    ...methodology.map((sentence) => ({ part: 'methodology', sentence })),
    ...inputs.hierarchy.map((sentence) => ({ part: 'inputs', sentence })),
    ...limitations.map((sentence) => ({ part: 'limitations', sentence })),
  ],
  notices: ({ procedures, errors, discretion }) => [
    `${formatCount(procedures.length, 'procedure')}, ${formatCount(errors.length, 'error')}, ${formatCount(discretion.judgements.length, 'judgement')}; --out writes them.`,
  ],
  media: { '.md': 'text/markdown' },
});

const methodologyChanges = createOperationView({
  operation: 'listMethodologyChanges',
  summary: 'List the changes of a methodology: versions with their sentences, and dated amendments.',
  words: [INDEX],
  flags: { limit: { type: 'number', value: 'N', help: 'Maximum number of changes. Default: 50.' } },
  examples: ['divisor index changes CORE-100'],
  records: ({ changes }) =>
    changes.map(({ removed, added, ...change }) => ({ ...change, removed: removed.length, added: added.length })),
  notices: ({ changes, amendments }) => [
    ...amendments.map(({ effective_from: from, reason }) => `amendment from ${from}: ${reason ?? 'no reason stated'}`),
    ...changes.flatMap(({ version, removed, added }) => [
      ...removed.map((sentence) => `version ${version}, removed: ${sentence}`),
      ...added.map((sentence) => `version ${version}, added: ${sentence}`),
    ]),
  ],
});

export const INDEX_COMMANDS = {
  'index list': list,
  'index templates': templates,
  'index new': create,
  'index show': show,
  'index put': put,
  'index amend': amend,
  'index diff': diff,
  'index versions': versions,
  'index restore': restore,
  'index delete': removeIndex,
  'index preview': preview,
  'index explain': explain,
  'index methodology': methodology,
  'index statement': statement,
  'index changes': methodologyChanges,
};

export const PLUGIN_COMMANDS = {
  'plugin list': plugins,
  'plugin put': putPlugin,
};

export const STRATEGY_COMMANDS = {
  'strategy list': strategies,
  'strategy put': putStrategy,
};
