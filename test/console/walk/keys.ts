import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { issueKey } from '#services/keys/keys.js';
import { runService, type RunningService } from '../../services/running-service.js';
import { downloadFile, follow, type Desk } from '../desk.js';

type Scopes = Parameters<typeof issueKey>[0]['scopes'];

const issueTestKey = (name: string, scopes: Scopes) => issueKey({ name, scopes, expires: null }, Date.now());
const READER = issueTestKey('reader', ['read']);
const RUNNER = issueTestKey('runner', ['run']);
const DESK = issueTestKey('desk', ['read', 'write', 'run', 'data']);

/** Returns the environment variable that defines the keys of a service. */
const createEnvironment = (keys: readonly ReturnType<typeof issueTestKey>[]) => ({
  DIVISOR_API_KEYS: keys
    .map(({ record: { name, id, sha256, scopes } }) => `${name}:${id}:${sha256}:${[...scopes].join('+')}`)
    .join(','),
});

/** Tests a separate service that requires keys, in the shared browser. */
export function describeKeys(desk: () => Desk): void {
  describe('with keys', () => {
    let service: RunningService;
    let page: Page;
    beforeAll(async () => {
      service = await runService([], createEnvironment([READER, RUNNER, DESK]));
      page = await desk().newPage();
    });
    afterAll(() => service?.close());

    async function enterKey(key: string): Promise<void> {
      await page.getByLabel('Key', { exact: true }).fill(key);
      await page.getByRole('button', { name: 'Continue' }).click();
    }

    async function forget(): Promise<void> {
      await page.getByRole('button', { name: 'Forget the key' }).click();
      await page.getByRole('heading', { name: 'This service requires a key' }).waitFor();
    }

    test('the console opens without a key, asks for one, and reports a wrong key', async () => {
      await page.goto(service.url());
      await page.getByRole('heading', { name: 'This service requires a key' }).waitFor();
      const [refusal] = await Promise.all([
        page.waitForResponse((answer) => answer.status() === 401),
        enterKey(`${READER.key.slice(0, -4)}AAAA`),
      ]);
      const { error } = (await refusal.json()) as { error: { message: string } };
      await page.getByText(error.message).waitFor();
      expect(desk().complaints).toEqual([]);
    });

    test('it shows the message of the service for a key without read access', async () => {
      const [refusal] = await Promise.all([
        page.waitForResponse((answer) => answer.status() === 403),
        enterKey(RUNNER.key),
      ]);
      const { error } = (await refusal.json()) as { error: { message: string; code: string } };
      expect(error.code).toBe('FORBIDDEN_SCOPE');
      await page.getByText(error.message).first().waitFor();
      await forget();
      expect(desk().complaints).toEqual([]);
    });

    test('it hides actions that the key does not permit, and forgets the key on demand', async () => {
      await enterKey(READER.key);
      await page.getByText('this key cannot add one').waitFor();
      const guide = await downloadFile(page, () => page.getByRole('link', { name: 'Guide', exact: true }).click());
      expect(guide.toString()).toContain('<!doctype html>');
      expect(await page.getByRole('button', { name: 'Generate' }).count()).toBe(0);
      expect(await page.getByRole('link', { name: 'New index' }).count()).toBe(0);
      expect(JSON.stringify(await page.context().storageState())).not.toContain('dvs_');
      for (const [address, isOffered] of [
        ['/console/data/import', 'Choose files'],
        ['/console/data/connect', 'Connect'],
        ['/console/indices/new', 'Save the index'],
      ] as const) {
        await follow(page, address);
        await page.getByText('This key may not').first().waitFor();
        expect(await page.getByRole('button', { name: isOffered, exact: true }).count(), address).toBe(0);
      }
      await forget();
      expect(desk().complaints).toEqual([]);
    });

    test('another key applies to all requests, also to those of the browser itself', async () => {
      await page.goto(service.url());
      await enterKey(DESK.key);
      await page.getByRole('button', { name: 'Generate' }).waitFor();
      await page.goto(`${service.url()}/console/data/import`);
      const file = await downloadFile(page, () => page.getByRole('link', { name: 'CSV templates' }).click());
      expect(file.subarray(0, 2).toString()).toBe('PK');
      await page.close();
      expect(desk().complaints).toEqual([]);
    });
  });
}
