import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Refusal } from '#domain/base/refusals.js';
import { formatDay, parseValidDay } from '#domain/base/time.js';
import { type AccountBacktest, runAccount } from '#domain/personal/account-backtest.js';
import { type AccountOutcome, solveOutcome } from '#domain/personal/account-result.js';
import { createBatchSummary } from '#domain/personal/batch-summary.js';
import { type BatchCommon, BLOCK_ACCOUNTS, PART_ACCOUNTS, VOLUME_ACCOUNTS } from '#domain/personal/batch.js';
import { composeCommon } from '#domain/personal/common-terms.js';
import { parseAccounts } from '#domain/personal/read-account.js';
import type { Task } from '#jobs/tasks/catalogue.js';
import type { RowsInBlocks, TaskControl } from '#jobs/tasks/messages.js';
import type { AccountBacktestInput, BatchPartInput, SumBatchInput } from '#jobs/tasks/runs.js';
import { raiseToPower } from '#kernels/power.js';
import { createQuestionComposer, openCachedMarket, runOnEngine } from '../input/inputs.js';
import { copyOutput, writeOutputs } from '../output/task-outputs.js';

/** Number of days per year in annual returns. */
const YEAR_DAYS = 365.25;

/** Runs one account over the history of an index: an AccountBacktestView as JSON. */
export const runAccountBacktest: Task<'account-backtest'> = async (input, control) => {
  const { documents, models, indexId, request } = input;
  const market = openCachedMarket(input.market);
  const lastDay = request.end === null ? (market.dates.at(-1) ?? 0) : parseValidDay(request.end);
  const accountBacktest = await runOnEngine((engine) =>
    runAccount({
      composer: createQuestionComposer(
        { market, documents, models, until: lastDay, engine },
        { report: () => control.report(0) },
      ),
      parent: indexId,
      request,
      report: (fraction) => control.report(fraction),
    }),
  );
  const view = copyOutput(JSON.stringify(createView(input, accountBacktest, market.contentHash)));
  return writeOutputs(input.outputs, { view });
};

function createView(
  { indexId, backtestId, request, engineVersion }: AccountBacktestInput,
  accountBacktest: AccountBacktest,
  hash: string,
) {
  const [first, last] = [accountBacktest.sessions[0]!, accountBacktest.sessions.at(-1)!];
  const sum = (kind: string): number =>
    accountBacktest.entries.reduce((total, entry) => (entry.kind === kind ? total + entry.amount : total), 0);
  const valueAfterTax = last.value - last.accrued_tax;
  const years = (parseValidDay(last.date) - parseValidDay(first.date)) / YEAR_DAYS;
  const startCosts = accountBacktest.entries.filter(({ kind, date }) => kind === 'cost' && date === first.date);
  const startValue = first.value - startCosts.reduce((total, { amount }) => total + amount, 0);
  return {
    backtest_id: backtestId,
    index_id: indexId,
    account_id: request.account.account_id,
    start: first.date,
    end: last.date,
    final_value: last.value,
    final_value_after_tax: valueAfterTax,
    annual_return_after_tax: years > 0 ? raiseToPower(Math.max(0, valueAfterTax) / startValue, 1 / years) - 1 : 0,
    tax_paid: 0 - sum('tax'),
    costs: 0 - sum('cost'),
    dividends: sum('dividend'),
    largest_gap:
      accountBacktest.rebalances.length === 0 ? null : Math.max(...accountBacktest.rebalances.map(({ gap }) => gap)),
    ...accountBacktest,
    store_content_hash: hash,
    engine_version: engineVersion,
  };
}

/** Common data of the last batch of this thread. All parts of the batch use it. */
let lastCommon: { readonly key: string; readonly common: BatchCommon } | undefined;

/** Solves some of the accounts of a batch. Each outcome depends only on its account and the common data. */
export const solveBatchPart: Task<'batch-part'> = async (input, control) => {
  const common = await openCommon(input, control);
  const outcomes: string[] = [];
  for (const lines of input.lines)
    for (const line of parseAccounts(lines)) {
      control.report(outcomes.length / (PART_ACCOUNTS * input.lines.length), `account ${line.position + 1}`);
      const path = `accounts[${line.position}]`;
      outcomes.push(
        JSON.stringify(
          'finding' in line
            ? { account_id: null, status: 'refused', findings: [line.finding] }
            : solveOutcome(common, line.value, path, line.line),
        ),
      );
    }
  return writeOutputs(input.outputs, { outcomes: copyOutput(outcomes.join('\n')) });
};

type CommonInput = Pick<BatchPartInput, 'market' | 'documents' | 'models' | 'terms'>;

async function openCommon(input: CommonInput, control: TaskControl): Promise<BatchCommon> {
  const { documents, models, terms } = input;
  const market = openCachedMarket(input.market);
  const key = JSON.stringify([market.contentHash, documents, models, terms]);
  if (lastCommon?.key === key) return lastCommon.common;
  const lastDay = terms.as_of === null ? (market.dates.at(-1) ?? 0) : parseValidDay(terms.as_of);
  const common = await runOnEngine((engine) =>
    composeCommon(
      createQuestionComposer(
        { market, documents, models, until: lastDay, engine },
        { report: () => control.report(0) },
      ),
      terms,
    ),
  );
  lastCommon = { key, common };
  return common;
}

/** Joins the outcomes of all parts in the order of the accounts, and summarises the outcomes. */
export const sumBatch: Task<'sum-batch'> = async (input, control) => {
  const common = await openCommon(input, control);
  const summary = createBatchSummary();
  const rowBlocks: RowsInBlocks[] = [];
  const close = async (name: string, texts: readonly Uint8Array[], count: number): Promise<void> => {
    const blocks = texts.map((bytes) => ({
      bytes: bytes.length,
      sha256: createHash('sha256').update(bytes).digest('hex'),
    }));
    const { [name]: artifact } = await writeSome(input.outputs, { [name]: Buffer.concat(texts) });
    rowBlocks.push({ artifact: artifact!, count, blocks });
  };
  await close('common', [Buffer.from(JSON.stringify(formatCommonJson(common)))], 1);
  const accountCount = input.sizes.reduce((sum, size) => sum + size, 0);
  let blocks: Uint8Array[] = [];
  let openLines: string[] = [];
  let rowCount = 0;
  for (const line of readOutcomeLines(input)) {
    summary.add(JSON.parse(line) as AccountOutcome); // a part wrote these lines
    openLines.push(line);
    rowCount++;
    if (rowCount % BLOCK_ACCOUNTS === 0 || rowCount === accountCount) {
      blocks.push(Buffer.from(openLines.join(',')));
      openLines = [];
      control.report(rowCount / accountCount, `account ${rowCount}`);
    }
    if (rowCount % VOLUME_ACCOUNTS === 0 || rowCount === accountCount) {
      await close(`accounts${rowBlocks.length - 1}`, blocks, rowCount - (rowBlocks.length - 1) * VOLUME_ACCOUNTS);
      blocks = [];
    }
  }
  const figures = summary.end();
  const { batchId, terms, engineVersion } = input;
  const view = {
    batch_id: batchId,
    parent: terms.parent,
    risk_model: terms.risk_model,
    as_of: formatDay(common.asOf),
    ...figures,
    blocks: Math.ceil(accountCount / BLOCK_ACCOUNTS),
    store_content_hash: openCachedMarket(input.market).contentHash,
    engine_version: engineVersion,
  };
  const outputRefs = await writeSome(input.outputs, { view: Buffer.from(JSON.stringify(view)) });
  return { view: outputRefs['view']!, volumes: rowBlocks, summary: figures };
};

async function writeSome(
  { destination, names }: SumBatchInput['outputs'],
  contents: Readonly<Record<string, Uint8Array>>,
) {
  const bytes = Object.entries(contents).map(([file, content]) => [file, copyOutput(content)] as const);
  return writeOutputs({ destination, names }, Object.fromEntries(bytes));
}

/** Yields the outcomes by account. If several nodes computed a part, their outcomes are identical. */
function* readOutcomeLines({ files, sizes }: SumBatchInput): Generator<string> {
  const partPositions = new Map(
    files.flatMap((file) => file.parts.map((part, position) => [part, { file, at: position }] as const)),
  );
  let cachedLines: { readonly path: string; readonly lines: readonly string[] } | undefined;
  for (let part = 0; part < sizes.length; part++) {
    const { file } = partPositions.get(part)!;
    if (cachedLines?.path !== file.path) cachedLines = { path: file.path, lines: readLines(file) };
    const rowsBefore = file.parts.slice(0, file.parts.indexOf(part)).reduce((sum, other) => sum + sizes[other]!, 0);
    yield* cachedLines.lines.slice(rowsBefore, rowsBefore + sizes[part]!);
  }
}

function readLines({ path, sha256 }: SumBatchInput['files'][number]): readonly string[] {
  const bytes = readFileSync(path);
  if (createHash('sha256').update(bytes).digest('hex') !== sha256)
    throw new Refusal('DOCUMENT_UNREADABLE', 'Results of some accounts are damaged: run the batch again.');
  return bytes.toString().split('\n');
}

/** Formats the common data as JSON. With it, clients can verify the results. */
function formatCommonJson({ asOf, prices, weights, loadings, specific, ...rest }: BatchCommon) {
  return {
    ...rest,
    as_of: formatDay(asOf),
    prices: Array.from(prices),
    weights: Array.from(weights),
    loadings: Array.from(loadings),
    specific: Array.from(specific),
  };
}
