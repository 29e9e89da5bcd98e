import type { StrategyDocumentInput } from '#clients/typescript/divisor.js';
import { readJsonFile } from '../command-line.js';
import { NOTE } from './documents.js';
import { createViewCommand } from './view-command.js';

export const strategies = createViewCommand({
  summary: 'List the strategies.',
  words: [],
  flags: {},
  examples: ['divisor strategy list'],
  ask: (client) => client.call('listStrategies', {}),
  records: (answer) => answer.strategies.map(({ strategy, problems }) => ({ ...strategy, problems: problems.length })),
  columns: ['id', 'name', 'index_id', 'benchmark', 'start', 'end', 'problems'],
});

export const putStrategy = createViewCommand({
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
