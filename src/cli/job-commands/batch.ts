import { openAsBlob } from 'node:fs';
import { extname, resolve } from 'node:path';
import type { BatchAccount, BatchRequest, BatchView, DivisorClient } from '#clients/typescript/divisor.js';
import { jsonFile } from '../command-line.js';
import type { JobCommand } from '../job-command.js';
import { percent, right, table } from '../terminal.js';
import { UsageError } from '../usage-error.js';

export const batch: JobCommand<BatchView> = {
  summary: 'Compute the trades of many accounts with tax lots that follow an index.',
  words: [
    {
      name: 'FILE',
      help: 'Accounts: .json (a request), .ndjson (terms, then an account per line), .csv (lots), or .arrow (a stream) or .parquet with a row per lot or per account.',
    },
  ],
  notes: `A .csv file has one row per lot: account_id, identifier, shares, cost, acquired, sorted by account. A row with identifier CASH has the cash
of the account in shares. With a .csv, .arrow or .parquet file --terms names the terms.`,
  flags: {
    terms: { type: 'string', value: 'FILE', help: 'Terms as JSON: parent, risk_model, objective and so on.' },
    id: { type: 'string', value: 'ID', help: 'Id of the batch. Default: a generated one.' },
  },
  examples: ['divisor batch accounts.ndjson', 'divisor batch lots.csv --terms terms.json --out accounts-trades.ndjson'],
  ending: '.ndjson',
  submit: async (client, [file = ''], flags) => ({
    job: await submitFile(client, file, { terms: flags.text('terms'), id: flags.text('id') }),
  }),
  show: (view) =>
    `${table([
      ...Object.entries(view.by_status).map(([status, count]) => [status, right(String(count))]),
      ['tracking error, median', right(view.tracking_error === null ? '-' : percent(view.tracking_error['p50']!))],
      ['tax', right(view.tax.toFixed(2))],
      ['tax saved', right(view.tax_saved.toFixed(2))],
      ['largest gap', right(view.largest_gap === null ? '-' : view.largest_gap.toExponential(1))],
    ])}${view.refused.flatMap(({ findings }) => findings.map(({ message }) => `  ${message}\n`)).join('')}`,
  notices: ({ refused }) => refused.flatMap(({ findings }) => findings.map(({ message }) => message)),
  async *file(client, view) {
    for (let block = 0; block < view.blocks; block++)
      for (const one of await blockOf(client, view.batch_id, block)) yield Buffer.from(`${JSON.stringify(one)}\n`);
  },
};

/** Results of a block. */
export async function blockOf(
  client: DivisorClient,
  batch_id: string,
  block: number,
): Promise<readonly BatchAccount[]> {
  const { accounts } = await client.call('getBatchAccounts', { params: { batch_id }, query: { block } });
  return accounts;
}

const TABLES: Readonly<Record<string, string>> = {
  '.csv': 'text/csv',
  '.arrow': 'application/vnd.apache.arrow.stream',
  '.parquet': 'application/vnd.apache.parquet',
};

interface Given {
  readonly terms: string | undefined;
  readonly id: string | undefined;
}

async function submitFile(client: DivisorClient, file: string, given: Given) {
  const kind = extname(file);
  if (kind === '.json') {
    const request = await jsonFile<BatchRequest>(file);
    return client.call('startBatch', { body: { ...request, ...(given.id !== undefined && { batch_id: given.id }) } });
  }
  const bytes = (): Promise<Blob> => openAsBlob(resolve(file));
  if (kind === '.ndjson') return client.upload('startBatch', 'application/x-ndjson', await bytes(), {});
  const media = TABLES[kind];
  if (media === undefined)
    throw new UsageError(`${file}: accounts are a .json, .ndjson, .csv, .arrow or .parquet file`);
  if (given.terms === undefined) throw new UsageError(`a ${kind} file requires --terms FILE`);
  const terms = { ...(await jsonFile<object>(given.terms)), ...(given.id !== undefined && { batch_id: given.id }) };
  return client.upload('startBatch', media, await bytes(), { query: { terms: JSON.stringify(terms) } });
}
