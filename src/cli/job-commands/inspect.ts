import type { DivisorClient, InspectResult } from '#clients/typescript/divisor.js';
import type { JobCommand } from '../job-command.js';
import { table } from '../terminal.js';
import { dataSource, type DataSource } from './data-source.js';

export const inspectData: JobCommand<InspectResult> = {
  summary: 'Look at data and propose the mapping by which it is read.',
  words: [{ name: 'PATH', help: 'A folder, a table, an .xlsx or .zip file, or the URL of a database.' }],
  notes: '--out writes how the data is read, mapping and adjustment, for import --mapping. Nothing is stored.',
  flags: {},
  examples: ['divisor inspect ./vendor', 'divisor inspect ./vendor --out mapping.json'],
  async submit(client, [word = '']) {
    return { result: await inspected(client, await dataSource(word)) };
  },
  show: shown,
  file: (_client, { adjustment, mapping }) =>
    Promise.resolve(Buffer.from(`${JSON.stringify({ adjustment, mapping } satisfies Reading, null, 2)}\n`)),
};

/** How data is read, as a file holds it. */
export interface Reading {
  readonly adjustment: InspectResult['adjustment'];
  readonly mapping: InspectResult['mapping'];
}

/** What the service proposes for data. */
export function inspected(client: DivisorClient, source: DataSource): Promise<InspectResult> {
  const body =
    source.kind === 'content'
      ? { content: source.content, format: source.format }
      : { location: source.location, tables: source.tables };
  return client.call('inspectData', { body });
}

/** Findings that are shown, and bars. */
const SHOWN_MAX = 10;

function shown({ mapping, preview, findings, questions, ...rest }: InspectResult): string {
  const said = Object.entries(mapping).filter(([, value]) => {
    const isEmpty = value === null || (typeof value === 'object' && Object.keys(value).length === 0);
    return !isEmpty;
  });
  const cell = (value: unknown) => (value === null ? '' : String(value));
  return [
    table([
      ['recognised as', rest.recognised_as ?? 'nothing in particular'],
      ['confidence', rest.confidence],
      ['files', String(rest.files)],
      ['rows read', String(rest.rows_read)],
      ['adjustment', rest.adjustment],
    ]),
    `Mapping\n${table(said.map(([member, value]) => [member, typeof value === 'string' ? value : JSON.stringify(value)]))}`,
    ...(questions.length === 0 ? [] : [`Questions\n${table(questions.map((question) => [question]))}`]),
    ...(findings.length === 0
      ? []
      : [`Findings\n${table(findings.slice(0, SHOWN_MAX).map(({ code, path, message }) => [code, path, message]))}`]),
    ...(preview.data.length === 0
      ? []
      : [`As read\n${table([preview.columns, ...preview.data.slice(0, SHOWN_MAX).map((row) => row.map(cell))])}`]),
  ].join('\n');
}
