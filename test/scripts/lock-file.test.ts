import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

interface LockedPackage {
  readonly version?: string;
  readonly integrity?: string;
  readonly resolved?: string;
}
const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
  readonly packages: Readonly<Record<string, LockedPackage>>;
};
const lockedPackages = Object.entries(packages).filter(([place]) => place !== '');

test('every package of the lock file has an exact version and the SHA-512 of its content, and no URL', () => {
  expect(lockedPackages.length).toBeGreaterThan(400);
  const unsafe = lockedPackages.filter(
    ([, { version = '', integrity = '', resolved }]) =>
      !/^\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(version) ||
      !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity) ||
      resolved !== undefined,
  );
  expect(unsafe.map(([place]) => place)).toEqual([]);
});

test('every dependency is named by its exact version', () => {
  const { dependencies, devDependencies, optionalDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    readonly [group: string]: Readonly<Record<string, string>>;
  };
  for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies }))
    expect([name, version]).toEqual([name, expect.stringMatching(/^\d+\.\d+\.\d+(?:-[\w.]+)?$/)]);
});
