import { describe, expect, test } from 'vitest';
import { runCalendars } from '#cli/commands/calendars.js';
import { copy, runMigration, runNodes } from '#cli/commands/home.js';
import { formatSettingsHelp, readSettings, SETTINGS } from '#cli/settings/settings.js';
import { UsageError } from '#cli/usage.js';
import { removePasswords } from '#cli/commands/serve.js';
import { StartRefusal } from '#store/start-refusal.js';
import { runHere } from './process.js';

const createRow = (argv: string[], environment: Record<string, string>, name: string) =>
  readSettings(argv, environment).rows.find((row) => row.name === name);

test('a flag overrides the environment, and the environment overrides the default', () => {
  expect(createRow([], {}, 'port')).toMatchObject({ value: '8080', source: 'default' });
  expect(createRow([], { PORT: '81' }, 'port')).toMatchObject({ value: '81', source: 'PORT' });
  expect(createRow(['--port', '82'], { PORT: '81' }, 'port')).toMatchObject({ value: '82', source: '--port' });
  expect(createRow(['--port=83'], {}, 'port')).toMatchObject({ value: '83' });
  expect(createRow([], { PORT: '' }, 'port')).toMatchObject({ source: 'default' });
});

test('the endpoint and region of an object store may be set for all AWS services; settings of S3 override them', () => {
  const all = { AWS_ENDPOINT_URL: 'http://all:1', AWS_DEFAULT_REGION: 'eu-north-1' };
  expect(createRow([], all, 'awsEndpoint')).toMatchObject({ value: 'http://all:1', source: 'AWS_ENDPOINT_URL' });
  expect(createRow([], all, 'awsRegion')).toMatchObject({ value: 'eu-north-1', source: 'AWS_DEFAULT_REGION' });
  const ownEnvironment = { ...all, AWS_ENDPOINT_URL_S3: 'http://s3:1', AWS_REGION: 'eu-west-1' };
  expect(createRow([], ownEnvironment, 'awsEndpoint')).toMatchObject({
    value: 'http://s3:1',
    source: 'AWS_ENDPOINT_URL_S3',
  });
  expect(createRow([], ownEnvironment, 'awsRegion')).toMatchObject({ value: 'eu-west-1', source: 'AWS_REGION' });
});

test.each([
  ['publish=2:ada', { publish: { persons: 2, approvers: ['ada'] }, restate: { persons: 2, approvers: ['ada'] } }],
  ['publish=2,restate=3', { publish: { persons: 2, approvers: null }, restate: { persons: 3, approvers: null } }],
  ['restate=1,publish=2', { publish: { persons: 2, approvers: null } }],
  ['amend=2', { amend: { persons: 2, approvers: null } }],
])('a restatement follows the rule of publications unless it has its own: %s', (text, rules) => {
  expect(readSettings(['--approvals', text], {}).settings.approvals).toEqual(rules);
});

test('lists and paths are parsed into the values that the service uses', () => {
  const { settings } = readSettings(['--home', 'x/../y', '--data-roots', '/a:/b/../c'], {
    DIVISOR_DATABASE_HOSTS: 'db1, db2:5432,',
  });
  expect([settings.home.endsWith('/y'), settings.dataRoots, settings.databaseHosts]).toEqual([
    true,
    ['/a', '/c'],
    ['db1', 'db2:5432'],
  ]);
});

test('allowed sources are shown as they apply: the home, never the working folder, and this machine only while the service listens only on it', () => {
  const { settings, rows } = readSettings(['--home', '/srv/x'], {});
  expect([settings.dataRoots, settings.databaseHosts]).toEqual([['/srv/x'], ['localhost', '127.0.0.1', '::1']]);
  expect(rows.find(({ name }) => name === 'dataRoots')).toMatchObject({
    value: '/srv/x',
    source: 'default',
  });
  expect(createRow(['--host', '0.0.0.0'], {}, 'databaseHosts')).toMatchObject({ value: 'none', source: 'default' });
  expect(createRow(['--host', '0.0.0.0', '--database-hosts', 'db1'], {}, 'databaseHosts')).toMatchObject({
    value: 'db1',
    source: '--database-hosts',
  });
});

test('an absent value is shown as the default in force, a switch as its flag would state it', () => {
  const valueOf = (name: string, argv: string[] = []) => createRow(['--home', '/srv/x', ...argv], {}, name)?.value;
  expect(
    ['backups', 'documentVersionsKept', 'readOnly', 'approvals', 'secretKey'].map((name) => valueOf(name)),
  ).toEqual(['/srv/x/backups', 'all', 'off', 'none', 'none']);
  expect(valueOf('approvals', ['--approvals', 'publish=2:ada'])).toBe('publish=2:ada');
  const retries = 'crashes=3,losses=20,releases=1000,backoff=1,backoff-max=60,deadline=0';
  expect(valueOf('jobRetries')).toBe(retries);
  expect(valueOf('jobRetries', ['--job-retries', 'losses=5, sweep.crashes=1'])).toBe(
    `${retries.replace('losses=20', 'losses=5')},sweep.crashes=1`,
  );
});

test('divisor config names each setting by its flag and its variable', async () => {
  const { out } = await runHere(['config', '--port', '9000'], {});
  const line = (variable: string) => out.split('\n').find((text) => text.split(/ {2,}/).includes(variable));
  expect(line('PORT')).toMatch(/^--port +PORT +9000 +--port /);
  expect(line('DIVISOR_TRASH_HOURS')).toMatch(/^--trash-hours +DIVISOR_TRASH_HOURS +24 +default /);
  expect(line('AWS_PROFILE')).toMatch(/^ +AWS_PROFILE +default +default /);
});

test.each(['db1:0', 'db1:65536', 'db1:x', 'db 1', 'postgresql://db1'])('the database host %s is refused', (text) => {
  expect(() => readSettings(['--database-hosts', text], {})).toThrow('must be host or host:port');
});

test('keys of the environment are read, and the effective settings show only their number', () => {
  const environment = { DIVISOR_API_KEYS: `ci:abcdefghijkl:${'0f'.repeat(32)}:read+run` };
  const { settings, rows } = readSettings([], environment);
  expect(settings.apiKeys).toEqual([
    {
      id: 'abcdefghijkl',
      name: 'ci',
      sha256: '0f'.repeat(32),
      scopes: ['read', 'run'],
      created: null,
      expires: null,
      revoked: null,
    },
  ]);
  expect(JSON.stringify(rows)).not.toContain('0f0f');
});

describe('a bad setting is refused in one sentence that names its source', () => {
  test.each([
    [['--port=-1'], {}, 'The setting --port "-1" must be a whole number from 0 to 65535.'],
    [['--port', '65536'], {}, 'The setting --port "65536" must be at most 65535.'],
    [[], { DIVISOR_WORKERS: '0' }, 'The setting DIVISOR_WORKERS "0" must be at least 1.'],
    [
      ['--numerics', 'gpu'],
      {},
      'The setting --numerics "gpu" is not one of auto, native, wasm, tensorflow, reference.',
    ],
    [[], { DIVISOR_API_KEYS: 'secret' }, 'The setting DIVISOR_API_KEYS must be name:keyId:sha256hex:scope+scope.'],
    [
      [],
      { DIVISOR_API_KEYS: `a:abcdefghijkl:${'0f'.repeat(32)}:fly` },
      'The setting DIVISOR_API_KEYS has a scope outside read, write, run, data, publish, audit, admin.',
    ],
  ])('%j %j', (argv, environment, message) => {
    expect(() => readSettings(argv, environment as Record<string, string>)).toThrow(new StartRefusal(78, message));
  });

  test.each([[['--nope', '1']], [['extra']], [['--port']]])('%j cannot be read', (argv) => {
    expect(() => readSettings(argv, {})).toThrow(UsageError);
  });
});

const ADDRESS_FORM =
  'must be like postgres://user:password@host:5432/name, with %40 for @, %23 for #, %2F for / and %3F for ? in the password';

test.each([
  ['postgres://app:hidden p@ss#w@127.0.0.1:5432/db', ADDRESS_FORM],
  ['app:hidden@127.0.0.1', ADDRESS_FORM],
  ['host=127.0.0.1 password=hidden', ADDRESS_FORM],
  ['postgres://app:12#hidden@h/db', ADDRESS_FORM],
  ['postgres://app:12/hidden@h/db', ADDRESS_FORM],
  ['postgres://app:12?hidden@h/db', ADDRESS_FORM],
  ['postgres://app@h/db?password=hidden', 'has the password after ?: write user:password@host, or set PGPASSWORD'],
  [
    'postgres://app:hidden@h/db?sslmod=verify-full',
    'has an unknown parameter (did you mean sslmode?); the parameters are sslmode, sslrootcert, sslcert, sslkey, host, port, user, application_name',
  ],
  [
    'postgres://app:hidden@h/db?sslmode=verify-ful',
    'has an unknown sslmode; it must be one of disable, no-verify, verify-full, require, verify-ca',
  ],
])('an address of a database that is not accepted is never repeated: %s', (url, clause) => {
  for (const [argv, environment, source] of [
    [['--database', url], {}, '--database'],
    [[], { DATABASE_URL: url }, 'DATABASE_URL'],
  ] as const)
    expect(() => readSettings(argv, environment)).toThrow(new StartRefusal(78, `The setting ${source} ${clause}.`));
});

test('no setting that may contain a secret is repeated, and a URL is shown without its password', () => {
  const secretFlags = { '--artifacts': 's3://key:hidden@bucket', '--database': 'hidden' };
  for (const [flag, value] of Object.entries(secretFlags)) {
    const throwOnRead = () => readSettings([flag, value], {});
    expect(throwOnRead).toThrow(`The setting ${flag} must be like`);
    expect(throwOnRead).not.toThrow(/hidden/);
  }
  for (const password of ['a@b:c', 'a"b', 'a\\b'])
    expect(createRow(['--database', `postgres://app:${password}@h/db?sslmode=require`], {}, 'database')).toMatchObject({
      value: 'postgres://app:***@h/db?sslmode=require',
    });
});

test.each(['openblas', 'wasm-relaxed'])('the engine %s of earlier versions is replaced by its successor', (name) => {
  expect(readSettings(['--numerics', name], {}).settings.numerics).toBe('native');
});

test('a misspelt flag is refused with the most similar flag', async () => {
  expect(() => readSettings(['--artifact', 's3://b'], {})).toThrow(
    "Unknown option '--artifact'. Did you mean --artifacts?",
  );
  // `engine` is a term of other services and not similar to the name of the flag.
  expect(() => readSettings(['--engine', 'native'], {})).toThrow("Unknown option '--engine'. Did you mean --numerics?");
  expect(() => readSettings(['--threads=4'], {})).toThrow(/Did you mean --workers\?/);
  expect(() => readSettings(['--shoe', '4'], {})).toThrow(/^Unknown option '--shoe'$/);
  await expect(copy(['--too', 'b'], {})).rejects.toThrow(/Did you mean --to\?/);
  await expect(runNodes(['--databse', 'x'], {})).rejects.toThrow(/Did you mean --database\?/);
  await expect(runMigration(['--databse=x'], {})).rejects.toThrow(/Did you mean --database\?/);
  expect(() => runCalendars(['list', '--foldr', 'x'])).toThrow(/Did you mean --folder\?/);
});

test('a setting without effect is reported with its requirement; default and effective settings are not', () => {
  const listIneffective = (words: string[], variables = {}) => readSettings(words, variables).ineffective;
  expect(listIneffective(['--migrate', 'on', '--lease', '20', '--cache-mb', '100', '--cache', '/c'])).toEqual([
    '--cache has no effect without --artifacts s3://...',
    '--cache-mb has no effect without --artifacts s3://...',
    '--lease has no effect without --database',
    '--migrate has no effect without --database',
  ]);
  expect(listIneffective([], { DIVISOR_LEASE: '20' })).toEqual(['DIVISOR_LEASE has no effect without --database']);
  expect(listIneffective(['--lease', '10', '--migrate', 'off'])).toEqual([]);
  const database = 'postgres://u:p@127.0.0.1:5432/d';
  expect(
    listIneffective(['--database', database, '--lease', '20', '--artifacts', 's3://bucket/a', '--cache-mb', '100']),
  ).toEqual([]);
  expect(listIneffective(['--database', database, '--artifacts', 'file:///mnt', '--cache-mb', '100'])).toHaveLength(1);
});

test('the help states the range of a number and the values of a choice', () => {
  const findLine = (flag: string) =>
    formatSettingsHelp()
      .split('\n')
      .find((text) => text.trimStart().startsWith(`${flag} `));
  expect(findLine('--workers')).toMatch(/From 1 to 256\.$/);
  expect(findLine('--port')).toMatch(/From 0 to 65535\.$/);
  expect(findLine('--migrate')).toMatch(/One of on, off\.$/);
  expect(findLine('--numerics')).toMatch(/One of auto, native, wasm, tensorflow, reference\.$/);
  expect(findLine('--home')).not.toMatch(/From|One of/);
});

test('the help lists every flag and variable', () => {
  for (const { variable } of Object.values(SETTINGS)) expect(formatSettingsHelp()).toContain(variable);
});

test('passwords in URLs and keys are removed from the log', () => {
  const key = `dvs_abcdefghijkl_${'x'.repeat(43)}`;
  expect(removePasswords(`{"url":"postgres://user:p%40ss@db/x","key":"${key}"}`)).toBe(
    '{"url":"postgres://user:[redacted]@db/x","key":"dvs_abcdefghijkl_[redacted]"}',
  );
  expect(removePasswords('{"url":"http://127.0.0.1:8080/a@b"}')).toBe('{"url":"http://127.0.0.1:8080/a@b"}');
  expect(removePasswords('{"url":"postgres://u@db/x?a=b&password=p%40ss","n":1}')).toBe(
    '{"url":"postgres://u@db/x?a=b&password=[redacted]","n":1}',
  );
});
