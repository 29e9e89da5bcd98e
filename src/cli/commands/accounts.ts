import { openAsBlob } from 'node:fs';
import { extname, resolve } from 'node:path';
import type { BatchAccount, BatchRequest, BatchView, DivisorClient } from '#clients/typescript/divisor.js';
import { alignRight, formatPercentCell, formatTable } from '../terminal.js';
import { UsageError } from '../usage.js';
import { readJsonFile } from './command-line.js';
import { createOperationCommand, type JobCommand } from './job-command.js';

const HEADER = ['date', 'value', 'cash', 'accrued_tax'] as const;

const account = createOperationCommand({
  operation: 'backtestAccount',
  summary: 'Run one account with tax lots over the history of an index, after tax.',
  words: [
    { name: 'INDEX', help: 'Index that the account follows.' },
    { name: 'FILE', help: 'Request as JSON: account, risk_model, start and so on.', isBody: true },
  ],
  flags: {
    id: {
      type: 'string',
      value: 'ID',
      member: 'backtest_id',
      help: 'Id of the backtest. Default: the id in the file, or a generated id.',
    },
  },
  examples: ['divisor account CORE-40 account.json', 'divisor account CORE-40 account.json --csv > sessions.csv'],
  show: (view) =>
    formatTable([
      ['sessions', alignRight(String(view.sessions.length))],
      ['rebalances', alignRight(String(view.rebalances.length))],
      ['annual return after tax', alignRight(formatPercentCell(view.annual_return_after_tax))],
      ['final value after tax', alignRight(view.final_value_after_tax.toFixed(2))],
      ['tax paid', alignRight(view.tax_paid.toFixed(2))],
      ['costs', alignRight(view.costs.toFixed(2))],
      ['largest gap', alignRight(view.largest_gap === null ? '-' : view.largest_gap.toExponential(1))],
    ]),
  csv: ({ sessions }) => ({
    header: HEADER,
    rows: sessions.map((session) => HEADER.map((name) => session[name])),
  }),
});

const batch: JobCommand<BatchView> = {
  summary: 'Compute the trades of many accounts with tax lots that follow an index.',
  words: [
    {
      name: 'FILE',
      help: 'Accounts: .json (a request), .ndjson (an account per line, with the terms in the first line or in --terms), .csv (a table), or .arrow (a stream) or .parquet with a row per lot or per account.',
    },
  ],
  notes: `divisor batch template [--out FILE] writes a .csv file with every column and two example accounts; with --help it describes the columns. The
rows of an account are consecutive. With a .csv, .arrow or .parquet file, --terms is the file of the terms. The member defaults of the
terms sets the fields that an account omits.`,
  flags: {
    terms: { type: 'string', value: 'FILE', help: 'Terms as JSON: parent, risk_model, objective and so on.' },
    id: { type: 'string', value: 'ID', help: 'Id of the batch. Default: a generated id.' },
  },
  examples: [
    'divisor batch template --out accounts.csv',
    'divisor batch accounts.ndjson',
    'divisor batch accounts.csv --terms terms.json --out trades.ndjson',
  ],
  ending: '.ndjson',
  submit: async (client, [file = ''], flags) => ({
    job: await submitFile(client, file, { terms: flags.text('terms'), id: flags.text('id') }),
  }),
  show: (view) =>
    `${formatTable([
      ...Object.entries(view.by_status).map(([status, count]) => [status, alignRight(String(count))]),
      [
        'tracking error, median',
        alignRight(view.tracking_error === null ? '-' : formatPercentCell(view.tracking_error['p50']!)),
      ],
      ['tax', alignRight(view.tax.toFixed(2))],
      ['tax saved', alignRight(view.tax_saved.toFixed(2))],
      ['largest gap', alignRight(view.largest_gap === null ? '-' : `${(view.largest_gap * 10_000).toFixed(2)} bp`)],
    ])}${view.refused.flatMap(({ findings }) => findings.map(({ message }) => `  ${message}\n`)).join('')}`,
  notices: ({ refused }) => refused.flatMap(({ findings }) => findings.map(({ message }) => message)),
  async *file(client, view) {
    for (let block = 0; block < view.blocks; block++)
      for (const batchAccount of await fetchBlock(client, view.batch_id, block))
        yield Buffer.from(`${JSON.stringify(batchAccount)}\n`);
  },
};

/** Reads the account results of one block. */
export async function fetchBlock(
  client: DivisorClient,
  batch_id: string,
  block: number,
): Promise<readonly BatchAccount[]> {
  const { accounts } = await client.call('getBatchAccounts', { params: { batch_id }, query: { block } });
  return accounts;
}

/** Extensions of account files that can contain the terms of the batch. */
const TERMS_EXTENSIONS = ['.ndjson', '.arrow'];

const MEDIA: Readonly<Record<string, string>> = {
  '.ndjson': 'application/x-ndjson',
  '.csv': 'text/csv',
  '.arrow': 'application/vnd.apache.arrow.stream',
  '.parquet': 'application/vnd.apache.parquet',
};

interface BatchFlags {
  readonly terms: string | undefined;
  readonly id: string | undefined;
}

async function submitFile(client: DivisorClient, file: string, batchFlags: BatchFlags) {
  const kind = extname(file);
  if (kind === '.json') {
    if (batchFlags.terms !== undefined) throw new UsageError('a .json file contains its terms: --terms has no effect');
    const request = await readJsonFile<BatchRequest>(file);
    return client.call('startBatch', {
      body: { ...request, ...(batchFlags.id !== undefined && { batch_id: batchFlags.id }) },
    });
  }
  const media = MEDIA[kind];
  if (media === undefined)
    throw new UsageError(`${file}: accounts are a .json, .ndjson, .csv, .arrow or .parquet file`);
  if (batchFlags.terms === undefined && !TERMS_EXTENSIONS.includes(kind))
    throw new UsageError(`a ${kind} file requires --terms FILE`);
  const terms =
    batchFlags.terms === undefined ? undefined : JSON.stringify(await readJsonFile<object>(batchFlags.terms));
  const query = {
    ...(terms !== undefined && { terms }),
    ...(batchFlags.id !== undefined && { batch_id: batchFlags.id }),
  };
  return client.upload('startBatch', media, await openAsBlob(resolve(file)), { query });
}

export const ACCOUNT_COMMANDS = {
  batch,
  account,
};
