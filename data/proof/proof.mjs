// A proof of the levels: creates a synthetic market and five indices of different conventions in a folder, computes
// their levels with the service, and compares every session with an independent script that imports nothing of Divisor:
// levels.py (numpy), or levels.mjs where Python or numpy is absent. Ends with status 1 above a difference of 1e-12.
//
//   npm run proof                 creates the folder ./proof, or compares the one that exists
//   npm run proof -- FOLDER       with another folder
//
// An existing file is kept. Change a close in market.csv and run the command again: it fails. Delete levels.csv as well,
// and the service computes the levels of the changed market.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The market, and the five definitions: `levels.py` states the same rules in numpy. */
const { market: MARKET, indices: INDICES } = JSON.parse(readFileSync(new URL('indices.json', import.meta.url), 'utf8'));
const PRICES = ['CLOSE', 'SHARES_OUTSTANDING', 'FREE_FLOAT'];
const ACTIONS = ['identifier', 'type', 'value', 'ex_date', 'related'];

const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const folder = resolve(process.argv[2] ?? 'proof');
const has = (name) => existsSync(join(folder, name));
const write = (name, rows) => writeFileSync(join(folder, name), `${rows.map((row) => row.join(',')).join('\n')}\n`);

mkdirSync(folder, { recursive: true });
if (!has('market.csv') || !has('levels.csv')) await compute();
process.exitCode = compare();

/** Starts a service on a temporary home, and writes the missing files of the folder. */
async function compute() {
  const { runWithTemporaryHome } = await import('../../dist/src/cli/commands/serve.js');
  const { createDivisorClient } = await import('../../dist/src/clients/typescript/divisor.js');
  const environment = { ...process.env, DIVISOR_DATA_ROOTS: folder };
  await runWithTemporaryHome({ name: 'proof', port: '0', environment }, async (url) => {
    const client = createDivisorClient({ url });
    if (!has('market.csv')) await writeMarket(client);
    await writeLevels(client);
  });
}

async function writeMarket(client) {
  process.stdout.write(`Creating a market of ${MARKET.assets} securities in ${folder}\n`);
  await client.waitForJob(await client.call('generateSynthetic', { body: { ...MARKET, store_id: 'generated' } }));
  const { identifiers } = await client.call('searchIdentifiers', { query: { limit: 1000 } });
  const market = [['identifier', 'date', ...PRICES]];
  const actions = [ACTIONS];
  for (const { identifier } of identifiers) {
    const { prices } = await client.call('getPrices', { params: { identifier }, query: { columns: PRICES.join() } });
    for (const [t, day] of prices.index.entries())
      market.push([identifier, day, ...PRICES.map((name) => prices.data[t][prices.columns.indexOf(name)])]);
    const { actions: own } = await client.call('getCorporateActions', { params: { identifier } });
    for (const action of own) actions.push(ACTIONS.map((name) => ({ identifier, ...action })[name] ?? ''));
  }
  write('corporate_actions.csv', actions);
  write('market.csv', market);
}

/** Backtests the indices on the files of the folder. */
async function writeLevels(client) {
  process.stdout.write('Computing the levels of five indices with the service\n');
  const store = { store_id: 'proof', name: 'Proof', kind: 'folder', location: folder, activate: true };
  const files = { market: 'market.csv', corporate_actions: 'corporate_actions.csv' };
  await client.call('createStore', { body: { ...store, tables: files } });
  const rows = [['index', 'date', 'level']];
  for (const body of INDICES) {
    const params = { index_id: body.id };
    await client.call('putIndex', { params, body });
    await client.waitForJob(await client.call('startBacktest', { params, body: {} }));
    const { levels } = await client.call('getLevels', { params });
    for (const [t, day] of levels.index.entries()) rows.push([body.id, day, levels.data[t]]);
  }
  write('levels.csv', rows);
}

/** Runs the independent script. Returns its exit status. */
function compare() {
  const python = ['python3', 'python'].find((name) => spawnSync(name, ['-c', 'import numpy']).status === 0);
  const [program, script] = python === undefined ? [process.execPath, 'levels.mjs'] : [python, 'levels.py'];
  process.stdout.write(`Computing them again with ${script}, and comparing every session\n`);
  return spawnSync(program, [here(script), folder], { stdio: 'inherit' }).status ?? 1;
}
