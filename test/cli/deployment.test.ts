import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { EXIT_CONFIGURATION, EXIT_TEMPORARY } from '#store/start-refusal.js';
import { startService } from './process.js';

const dockerfile = readFileSync('Dockerfile', 'utf8');
const unit = readFileSync('data/deploy/divisor.service', 'utf8');
const workerUnit = readFileSync('data/deploy/divisor-worker.service', 'utf8');
const readSetting = (name: string, text = unit) => new RegExp(`^${name}=(.*)$`, 'm').exec(text)?.[1];

test('the image uses Node 24, runs as an unprivileged user, and copies only existing files', () => {
  expect(dockerfile.match(/^FROM .*$/gm)).toEqual(['FROM ${NODE_IMAGE} AS build', 'FROM ${NODE_IMAGE}']);
  expect(dockerfile).toMatch(/^USER divisor$/m);
  const sources = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap((match) => match[1]!.split(' '));
  expect(sources.filter((source) => !existsSync(source))).toEqual([]);
  const shippedPaths = [...dockerfile.matchAll(/\/divisor\/(\S+)/g)]
    .map((match) => match[1]!)
    .filter((name) => !name.startsWith('dist') && name !== 'node_modules');
  expect(shippedPaths.filter((name) => !existsSync(name))).toEqual([]);
});

test('its health check distinguishes a responding service from one that does not respond', async () => {
  const [, list] = /HEALTHCHECK[\s\S]*?CMD (\[.*\])/.exec(dockerfile)!;
  const [, ...words] = JSON.parse(list!) as string[];
  const check = async (port: string) =>
    (await once(spawn(process.execPath, words, { env: { PORT: port } }), 'close'))[0] as number;
  const home = await mkdtemp(join(tmpdir(), 'divisor-image-'));
  const service = await startService(home, ['--log-level', 'error', '--drain-ms', '0']);
  expect(await check(new URL(service.url).port)).toBe(0);
  service.child.kill('SIGTERM');
  await service.ended;
  expect(await check(new URL(service.url).port)).toBe(1);
  await rm(home, { recursive: true });
});

test('the unit restarts a process after a crash, but not after an error that needs an operator', () => {
  expect([readSetting('Restart'), readSetting('RestartPreventExitStatus')]).toEqual([
    'always',
    `64 ${EXIT_TEMPORARY} ${EXIT_CONFIGURATION}`,
  ]);
  expect(Number(readSetting('TimeoutStopSec'))).toBeGreaterThan(25);
  const hardening = {
    NoNewPrivileges: 'true',
    ProtectSystem: 'strict',
    ProtectHome: 'true',
    PrivateTmp: 'true',
    StateDirectory: 'divisor',
    CapabilityBoundingSet: '',
    MemoryMax: '80%',
  };
  expect(Object.fromEntries(Object.keys(hardening).map((name) => [name, readSetting(name)]))).toEqual(hardening);
  expect(existsSync(readSetting('ExecStart')!.replace('/usr/bin/node /opt/divisor/', '').replace(' serve', ''))).toBe(
    true,
  );
});

test('the unit of a worker waits for the database and the results storage, and has the same isolation', () => {
  expect(readSetting('RestartPreventExitStatus', workerUnit)).toBe(`64 ${EXIT_CONFIGURATION}`);
  expect(readSetting('ExecStart', workerUnit)).toBe(readSetting('ExecStart')!.replace(' serve', ' worker'));
  expect(readSetting('StateDirectory', workerUnit)).toBe('divisor-worker');
  const listSandboxSettings = (text: string) =>
    text.split('\n').filter((line) => /^(Protect|Private|Restrict|System|Capab|No|Lock)/.test(line));
  expect(listSandboxSettings(workerUnit)).toEqual(listSandboxSettings(unit));
});
