import { readFile } from 'node:fs/promises';
import type { ClientBody } from '#clients/typescript/divisor.js';
import { readJsonFile } from '../command-line.js';
import { UsageError } from '../usage-error.js';
import { NOTE } from './documents.js';
import { createViewCommand } from './view-command.js';

const CLIENT = { name: 'CLIENT', help: 'Id of a client.' };
const formatList = (values: readonly string[] | null): string => values?.join(' ') ?? 'all';

export const clients = createViewCommand({
  summary: 'List the clients that receive files, with their entitlements.',
  words: [],
  flags: { index: { type: 'string', value: 'INDEX', help: 'Only clients with an entitlement to this index.' } },
  examples: ['divisor client list', 'divisor client list --index LARGE-100'],
  ask: (client, _, flags) => client.call('listClients', { query: { index_id: flags.text('index') } }),
  records: (answer) =>
    answer.clients.map(({ client_id, name, enabled, entitlements, targets }) => ({
      client_id,
      name,
      enabled,
      entitlements: entitlements
        .map(({ indices, tables }) => `${formatList(indices)}: ${formatList(tables)}`)
        .join('; '),
      targets: targets.map(({ name: target, type }) => `${target} (${type})`).join(' '),
    })),
  columns: ['client_id', 'name', 'enabled', 'entitlements', 'targets'],
});

export const showClient = createViewCommand({
  summary: 'Show the entitlements of a client, or its targets.',
  words: [CLIENT],
  flags: { targets: { type: 'boolean', help: 'List the targets of the client.' } },
  examples: ['divisor client show ACME', 'divisor client show ACME --targets'],
  async ask(client, [client_id = ''], flags) {
    const { entitlements, targets, secrets } = await client.call('getClient', { params: { client_id } });
    if (flags.isSet('targets') === true)
      return targets.map((target) => ({
        name: target.name,
        type: target.type,
        to: target.type === 'mail' ? target.to.join(' ') : target.url,
        tables: formatList(target.tables),
        has_secret: secrets.includes(target.name),
      }));
    return entitlements.map(({ indices, tables, starts_on, ends_on }) => ({
      indices: formatList(indices),
      tables: formatList(tables),
      starts_on,
      ends_on,
    }));
  },
  records: (rows: readonly Readonly<Record<string, unknown>>[]) => rows,
});

export const putClient = createViewCommand({
  summary: 'Store a client with its entitlements and targets.',
  words: [
    { name: 'ID', help: 'Id of the client.' },
    { name: 'FILE', help: 'Client as JSON; - reads standard input.' },
  ],
  flags: {
    secrets: {
      type: 'string',
      value: 'TARGET=FILE,...',
      help: 'Files with the password or private key of targets. Default: the secrets in the JSON, otherwise the stored secrets.',
    },
    ...NOTE,
  },
  examples: ['divisor client put ACME acme.json', 'divisor client put ACME acme.json --secrets ftp=acme_ed25519'],
  async ask(client, [client_id = '', file = ''], flags) {
    const body = await readJsonFile<ClientBody>(file);
    const secrets = await readSecrets(flags.text('secrets'));
    const names = (body.targets ?? []).map(({ name }) => name);
    const other = [...secrets.keys()].find((name) => !names.includes(name));
    if (other !== undefined)
      throw new UsageError(
        `${file} has no target with "name": "${other}"; its targets are ${names.join(', ') || 'none'}`,
      );
    const targets = (body.targets ?? []).map((target) =>
      secrets.has(target.name) ? ({ ...target, secret: secrets.get(target.name) } as typeof target) : target,
    );
    return client.call('putClient', { params: { client_id }, body: { ...body, targets }, note: flags.text('note') });
  },
  records: ({ client_id, name, entitlements, targets, secrets }) => [
    { client_id, name, entitlements: entitlements.length, targets: targets.length, secrets: secrets.length },
  ],
});

/** Reads the contents of files by target. The line break after a password is removed; a key keeps its lines. */
async function readSecrets(text: string | undefined): Promise<Map<string, string>> {
  const secrets = new Map<string, string>();
  for (const pair of text?.split(',') ?? []) {
    const [target = '', path = ''] = pair.split('=');
    const content = await readFile(path, 'utf8').catch(() =>
      Promise.reject(new UsageError(`--secrets takes TARGET=FILE; there is no file ${JSON.stringify(path)}`)),
    );
    secrets.set(target, content.includes('-----BEGIN') ? content : content.trimEnd());
  }
  return secrets;
}

export const deliveries = createViewCommand({
  summary: 'List the files that a client has received or will receive, or the log of the attempts.',
  words: [CLIENT],
  flags: {
    schedule: { type: 'string', value: 'SCHEDULE', help: 'Only days of this schedule.' },
    before: { type: 'string', value: 'DATE', help: 'Only days before this day.' },
    limit: { type: 'number', value: 'N', help: 'Number of days. Default: 20.' },
    log: { type: 'boolean', help: 'List attempts and results instead of files.' },
  },
  examples: ['divisor client deliveries ACME', 'divisor client deliveries ACME --limit 1 --log'],
  async ask(client, [client_id = ''], flags) {
    const query = { schedule_id: flags.text('schedule'), before: flags.text('before'), limit: flags.number('limit') };
    const { deliveries: records } = await client.call('listDeliveries', { params: { client_id }, query });
    if (flags.isSet('log') === true)
      return records.flatMap(({ schedule_id, date, log }) => log.map((line) => ({ date, schedule_id, ...line })));
    return records.flatMap(({ schedule_id, date, files }) =>
      files.map(({ target, path, state, attempts, delivered_at, message }) => ({
        date,
        schedule_id,
        target,
        path,
        state,
        attempts,
        delivered_at,
        message,
      })),
    );
  },
  records: (rows: readonly Readonly<Record<string, unknown>>[]) => rows,
});
