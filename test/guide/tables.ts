import { readFileSync } from 'node:fs';
import { CONSTRAINT_CLASSES } from '#domain/definition/constraints.js';
import { TOOLSETS } from '#contract/mcp.js';
import { type CatalogueEntry, createTypeSpec, type ParameterSpec } from '#domain/definition/catalogue.js';
import { PLUGIN_EXAMPLES } from '#contract/plugins.js';
import { FUNCTIONS } from '#domain/datapoints/functions.js';
import { ROW_FUNCTIONS } from '#domain/datapoints/plugin-sandbox.js';
import { EXPORT_FORMATS, EXPORTS, type ExportTable } from '#domain/outputs/exports.js';
import { RETURNS_CLASSES } from '#domain/definition/expected-returns.js';
import { OBJECTIVE_CLASSES } from '#domain/definition/objectives.js';
import { FINDING_CODES } from '#domain/base/findings.js';
import { LIMIT_SPECS } from '#domain/base/limits.js';
import { ERRORS } from '#domain/base/refusals.js';
import { OVERLAY_TYPES } from '#domain/definition/overlays.js';
import { BAR_SOURCES, BLOCK_KINDS, CHART_LINES, STATS, TABLE_SOURCES } from '#domain/outputs/report-templates.js';
import { SELECTION_CLASSES } from '#domain/definition/rule-pipeline.js';
import { WEIGHTING_CLASSES } from '#domain/definition/weighting-classes.js';
import { readMethodologies } from '#cli/compose/package-files.js';
import { readEvidence } from '../methodologies/evidence.js';
import { openCalendars } from '#market/serve/calendar-files.js';
import { createMethodologyTemplates } from '#services/indices/templates.js';
import { createTestContext } from '../services/context.js';

const TEMPLATE_PAGES = [
  { name: 'template-sizes', kind: 'size', first: 0, end: 8 },
  { name: 'template-sizes-second', kind: 'size', first: 8, end: 16 },
  { name: 'template-sizes-third', kind: 'size', first: 16, end: Infinity },
  { name: 'template-factors', kind: 'factor', first: 0, end: 7 },
  { name: 'template-factors-further', kind: 'factor', first: 7, end: Infinity },
  { name: 'template-weightings', kind: 'other_weighting', first: 0, end: Infinity },
  { name: 'template-optimised', kind: 'optimised', first: 0, end: Infinity },
  { name: 'template-overlays', kind: 'overlay', first: 0, end: 6 },
  { name: 'template-overlays-further', kind: 'overlay', first: 6, end: Infinity },
] as const;

/** Tables of the guide by name, in Markdown. They are generated from the code. */
const TABLES: Readonly<Record<string, () => string>> = {
  selection: () => formatClassTable(SELECTION_CLASSES),
  weighting: () => formatClassTable(WEIGHTING_CLASSES),
  functions: () =>
    formatTable(
      ['function', 'is', 'example'],
      FUNCTIONS.map(({ signature, help, example }) => [`\`${signature}\``, help, `\`${example}\``]),
    ),
  ...Object.fromEntries(TEMPLATE_PAGES.map(({ name }) => [name, () => templateSections.get(name)!])),
  evidence: () => formatEvidenceTable(),
  constraints: () => formatClassTable(CONSTRAINT_CLASSES),
  objectives: () => formatClassTable(OBJECTIVE_CLASSES),
  returns: () => formatClassTable(RETURNS_CLASSES),
  overlays: () =>
    formatTable(
      ['type', 'is', 'formula', 'as published in'],
      OVERLAY_TYPES.map(({ type, help, formula, reference }) => [`\`${type}\``, help, `\`${formula}\``, reference]),
    ),
  blocks: () =>
    formatTable(
      ['kind', 'shows'],
      Object.entries(BLOCK_KINDS).map(([kind, { help }]) => [`\`${kind}\``, help]),
    ),
  sources: () =>
    formatTable(
      ['block', 'names', 'shows'],
      [
        ...formatSourceRows('`table`, source', TABLE_SOURCES),
        ...formatSourceRows('`bar_chart`, source', BAR_SOURCES),
        ...formatSourceRows('`chart`, lines', CHART_LINES),
      ],
    ),
  stats: () =>
    formatTable(
      ['stat', 'printed as', 'it', 'unless stats are named, of'],
      Object.entries(STATS).map(([stat, { label, meaning, usual }]) => [
        `\`${stat}\``,
        label,
        meaning,
        USUAL_NOTES[usual],
      ]),
    ),
  exports: () =>
    formatTable(
      ['table', 'column', 'unit', 'is'],
      Object.entries<ExportTable>(EXPORTS).flatMap(([name, { help, row, columns }]) => [
        [`**\`${name}\`**`, '', '', `${help} A row is ${row}.`],
        ...Object.entries(columns).map(([column, { unit, meaning }]) => ['', `\`${column}\``, unit ?? '', meaning]),
      ]),
    ),
  formats: () =>
    formatTable(
      ['format', '`Accept`', 'is'],
      Object.entries(EXPORT_FORMATS).map(([name, { media, help }]) => [`\`${name}\``, `\`${media}\``, help]),
    ),
  example: () => `\`\`\`text\n${readExampleClass()}\`\`\``,
  plugins: () => formatPluginExamples(),
  rows: () => formatRowFunctions(),
  errors: () =>
    formatTable(
      ['code', 'status', 'means'],
      Object.entries(ERRORS).map(([code, { status, help }]) => [
        `\`${code}\``,
        status === null ? '*job*' : String(status),
        help,
      ]),
    ),
  toolsets: () =>
    formatTable(
      ['toolset', 'tools'],
      Object.entries(TOOLSETS).map(([name, { help }]) => [`\`${name}\``, help]),
    ),
  findings: () => `A finding has one of these codes: ${FINDING_CODES.map((code) => `\`${code}\``).join(', ')}.`,
  limits: () =>
    formatTable(
      ['name', 'value', 'limits'],
      Object.entries(LIMIT_SPECS).map(([name, { value, help }]) => [
        `\`${name}\``,
        value.toLocaleString('en-GB'),
        help,
      ]),
    ),
};

function refuseMarket(): never {
  throw new Error('the guide serves no market');
}

/** Returns the table that compares published methodologies with their rules in plain code. */
function formatEvidenceTable(): string {
  const templates = new Map(readMethodologies().map((template) => [template.id, template]));
  const rows = readEvidence().toSorted((a, b) => (a.template < b.template ? -1 : a.template > b.template ? 1 : 0));
  return formatTable(
    ['template', 'store', 'documents', 'without', 'weights', 'level', 'backtests'],
    rows.map(({ template, store, documents, weights, level, ms }) => [
      `\`${template}\``,
      store,
      String(documents),
      templates.get(template)!.choices.filter(isOmission).join(' '),
      weights.toExponential(1),
      level.toExponential(1),
      `${ms.toLocaleString('en-GB')} ms`,
    ]),
  );
}

/** Returns true if a choice leaves out a rule of the published document. */
const isOmission = (choice: string): boolean => / (?:is|are) left out[;:.]/.test(choice);

/** Returns a section for each published methodology. It states the source, the inputs and the choices. */
async function formatTemplateSections(): Promise<ReadonlyMap<string, string>> {
  const context = createTestContext({
    calendars: openCalendars(),
    markets: { current: () => undefined, require: refuseMarket },
    jobs: { query: refuseMarket },
  });
  const templates = createMethodologyTemplates(context, readMethodologies);
  const { templates: summaries } = await templates.list();
  const details = await Promise.all(summaries.map(({ id }) => templates.get(id, {})));
  const format = ({ id, title, style, source, index_ids: ids, needs, choices }: (typeof details)[number]) =>
    [
      `\n### ${title}\n`,
      `\`${id}\` is ${style.replace('In', 'in')} Source: ${source.publisher}, *${source.title}*, ${source.date}.`,
      `The template creates ${listIds(ids)}. ${needs.length === 0 ? 'It needs no data except closes.' : 'In addition to closes, it needs:'}\n`,
      ...needs.map(({ kind, name, meaning }) => `- \`${name}\` (${kind}): ${meaning.replace(/\.$/, '')}.`),
      '\nThe documents have these rules and choices:\n',
      choices.map((choice) => `- ${choice}`).join('\n'),
    ].join('\n');
  return new Map(
    TEMPLATE_PAGES.map(({ name, kind, first, end }) => [
      name,
      details
        .filter((template) => template.kind === kind)
        .slice(first, end)
        .map(format)
        .join('\n'),
    ]),
  );
}

/** Formats the document ids of a template as part of a sentence. */
function listIds(ids: readonly string[]): string {
  const markedIds = ids.map((id) => `\`${id}\``);
  return ids.length === 1
    ? `the index ${markedIds[0]}`
    : `the indices ${markedIds.slice(0, -1).join(', ')} and ${markedIds.at(-1)}`;
}

const MARKED_BLOCK = /(<!-- generated: ([a-z-]+) -->\n).*?(<!-- end -->)/gs;

/** Returns a page in which current tables replace the generated tables. */
export function addTables(text: string): string {
  return text.replaceAll(MARKED_BLOCK, (_, head: string, name: string, tail: string) => {
    const write = TABLES[name];
    if (write === undefined)
      throw new Error(`the guide asks for a table ${name}; there are ${Object.keys(TABLES).join(', ')}`);
    return `${head}${write()}\n${tail}`;
  });
}

function formatTable(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  return [heads, heads.map(() => '---'), ...rows]
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`)
    .join('\n');
}

const USUAL_NOTES = {
  'every run': 'every run',
  'no overlay': 'every run but that of an overlay',
  derived: 'a derived index',
  'short positions': 'a run with short positions',
  none: '',
} as const;

function formatSourceRows(block: string, catalogue: Readonly<Record<string, string>>): string[][] {
  return Object.entries(catalogue).map(([name, meaning], i) => [i === 0 ? block : '', `\`${name}\``, meaning]);
}

/** Returns the rule class that the guide has as its example, in the form of other classes. */
function readExampleClass(): string {
  return readFileSync('test/domain/rules/near-high-filter.ts', 'utf8')
    .replaceAll('#domain/definition/', './')
    .replaceAll('#domain/', '../');
}

/** Returns the example plug-ins, each with its inputs and its source. */
function formatPluginExamples(): string {
  return Object.entries(PLUGIN_EXAMPLES)
    .map(([id, { name, kind, inputs, source }]) => {
      const inputTexts = Object.entries(inputs).map(
        ([input, read]: [string, string | { expression: string; sessions: number }]) =>
          typeof read === 'string'
            ? `\`${input}\`: \`${read}\``
            : `\`${input}\`: \`${read.expression}\` of ${read.sessions} sessions`,
      );
      return `**${name}** (\`${id}\`), a ${kind}. Inputs: ${inputTexts.join(', ')}.\n\n\`\`\`text\n${source}\`\`\``;
    })
    .join('\n\n');
}

/** Returns the functions of `rows` as a TypeScript declaration. */
function formatRowFunctions(): string {
  const members = ROW_FUNCTIONS.map(({ name, help, parameters, lists }) => {
    const typedParameters = parameters.map((parameter, k) => `${parameter}: ${k < lists ? 'List' : 'number'}`);
    return `  /** ${help} */\n  ${name}(${typedParameters.join(', ')}): Float64Array;`;
  });
  const head = 'type List = ArrayLike<number> | number;\ndeclare const rows: {';
  return `\`\`\`text\n${head}\n${members.join('\n')}\n};\n\`\`\``;
}

/** Parameters that most classes in a catalogue have. The text next to a table explains them. */
const COMMON_PARAMETERS = new Set(['missing', 'soft', 'priority']);

function formatClassTable(entries: readonly CatalogueEntry[]): string {
  const rows = entries.map(createTypeSpec).map(({ type, help, parameters }) => {
    const ownParameters = parameters.filter(({ name }) => !COMMON_PARAMETERS.has(name));
    return [`\`${type}\``, help ?? '', ownParameters.map(formatParameterText).join(', ')];
  });
  return formatTable(['class', 'does', 'parameters'], rows);
}

function formatParameterText({ name, required, default: fallback }: ParameterSpec): string {
  if (required) return `**${name}**`;
  return fallback === undefined || fallback === null ? name : `${name} (${JSON.stringify(fallback)})`;
}

const templateSections = await formatTemplateSections();
