import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createDatabaseLocations } from '#market/read/database-location.js';
import { createLocations } from '#market/read/folder.js';
import { openTemporaryFolders } from '../../../store/temporary-folder.js';

const createFolder = openTemporaryFolders();

describe('the places of databases', () => {
  const createPlaces = (hosts: readonly string[], root = '/nowhere') =>
    createDatabaseLocations({ locations: createLocations([root]), hosts });
  const findErrorCode = async (
    location: string,
    hosts: readonly string[] = ['localhost', '127.0.0.1', '169.254.169.254'],
  ) => {
    const resolvedLocation = await createPlaces(hosts).resolve(location);
    return 'problem' in resolvedLocation ? resolvedLocation.problem.code : 'allowed';
  };

  test.each([
    ['a host that is allowed', 'postgresql://u:p@127.0.0.1:5432/db', 'allowed'],
    ['a host that is not', 'postgresql://u:p@10.0.0.1/db', 'LOCATION_NOT_ALLOWED'],
    ['a host that is not and does not exist', 'postgresql://u:p@nowhere.invalid/db', 'LOCATION_NOT_ALLOWED'],
    [
      'an address of the link, whatever the operator says',
      'postgresql://u:p@169.254.169.254/db',
      'LOCATION_NOT_ALLOWED',
    ],
    ['a parameter that reads a file', 'postgresql://u:p@127.0.0.1/db?sslkey=/etc/passwd', 'WRONG_TYPE'],
    ['a socket folder', 'postgresql:///db?host=/var/run', 'LOCATION_NOT_ALLOWED'],
    ['no user', 'postgresql://127.0.0.1/db', 'WRONG_TYPE'],
    ['a file outside the roots', 'sqlite:///etc/passwd', 'LOCATION_NOT_ALLOWED'],
    ['a way out of the roots', 'duckdb:///nowhere/../etc/passwd', 'LOCATION_NOT_ALLOWED'],
    ['no URL', 'market.db', 'WRONG_TYPE'],
  ])('%s', async (_what, location, expected) => {
    expect(await findErrorCode(location)).toBe(expected);
  });

  test.each([
    ['another port of an allowed host', 'postgresql://u:p@127.0.0.1:22/db', ['127.0.0.1'], 'LOCATION_NOT_ALLOWED'],
    ['the port that is named', 'postgresql://u:p@127.0.0.1:6432/db', ['127.0.0.1:6432'], 'allowed'],
    [
      'the default port where another is named',
      'postgresql://u:p@127.0.0.1/db',
      ['127.0.0.1:6432'],
      'LOCATION_NOT_ALLOWED',
    ],
    ['an address of IPv6 with its port', 'postgresql://u:p@[::1]:6432/db', ['[::1]:6432'], 'allowed'],
    ['an address of IPv6 without a port', 'postgresql://u:p@[::1]/db', ['::1'], 'allowed'],
    ['a line break in the user', 'postgresql://u%0d%0aQUIT:p@127.0.0.1/db', ['127.0.0.1'], 'WRONG_TYPE'],
    ['a NUL in the password', 'postgresql://u:p%00q@127.0.0.1/db', ['127.0.0.1'], 'WRONG_TYPE'],
    ['a line break in the database', 'postgresql://u:p@127.0.0.1/db%0a', ['127.0.0.1'], 'WRONG_TYPE'],
  ] as const)('%s', async (_what, location, hosts, expected) => {
    expect(await findErrorCode(location, hosts)).toBe(expected);
  });

  test('use the address that was checked, even if the name resolves differently later', async () => {
    const answers = ['192.0.2.1', '198.51.100.7', '169.254.169.254'];
    let count = 0;
    const resolveHost = (address = '') =>
      createDatabaseLocations({
        locations: createLocations(['/nowhere']),
        hosts: ['db.example:5432'],
        resolveHost: async () => (count++, address),
      }).resolve('postgresql://u:p@db.example/db');
    expect(await resolveHost('10.1.2.3')).toMatchObject({ place: { address: '10.1.2.3', host: 'db.example' } });
    expect(count).toBe(1);
    for (const address of [
      '169.254.169.254',
      '::ffff:169.254.169.254',
      '::169.254.169.254',
      '64:ff9b::a9fe:a9fe',
      '::',
      ...answers,
    ])
      expect([address, await resolveHost(address)]).toMatchObject([
        address,
        { problem: { code: 'LOCATION_NOT_ALLOWED' } },
      ]);
  });

  test('without any host allowed are none', async () => {
    expect(await findErrorCode('postgresql://u:p@localhost/db', [])).toBe('LOCATION_NOT_ALLOWED');
  });

  test('of databases without a driver are not supported', async () => {
    await expect(createPlaces([]).resolve('mysql://u:p@localhost/db')).rejects.toMatchObject({ code: 'NOT_SUPPORTED' });
  });

  test('of files below a root are their real paths', async () => {
    const folder = await createFolder();
    writeFileSync(join(folder, 'a b.db'), '');
    expect(await createPlaces([], folder).resolve(`sqlite://${folder}/a%20b.db`)).toEqual({
      place: { kind: 'sqlite', path: join(folder, 'a b.db') },
    });
  });
});
