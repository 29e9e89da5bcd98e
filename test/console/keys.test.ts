import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { issueKey } from '#services/operations/keys.js';
import { whyNone } from './browser.js';
import { downloaded, openDesk, type Desk } from './desk.js';

type Scopes = Parameters<typeof issueKey>[0]['scopes'];

const issued = (name: string, scopes: Scopes) => issueKey({ name, scopes, expires: null }, Date.now());
const READER = issued('reader', ['read']);
const DESK = issued('desk', ['read', 'write', 'run', 'data']);
const environment = {
  DIVISOR_API_KEYS: [READER, DESK]
    .map(({ record: { name, id, sha256, scopes } }) => `${name}:${id}:${sha256}:${[...scopes].join('+')}`)
    .join(','),
};

describe.skipIf((await whyNone()) !== null)('with keys, the console', () => {
  let desk: Desk;
  beforeAll(async () => {
    desk = await openDesk(environment);
  });
  afterAll(() => desk?.close());

  async function give(key: string): Promise<void> {
    const { page } = desk;
    await page.getByLabel('Key', { exact: true }).fill(key);
    await page.getByRole('button', { name: 'Continue' }).click();
  }

  test('is there without one, asks for one, and tells a wrong one', async () => {
    const { page, service, complaints } = desk;
    await page.goto(service.url());
    await page.getByRole('heading', { name: 'This service asks for a key' }).waitFor();
    const [refused] = await Promise.all([
      page.waitForResponse((answer) => answer.status() === 401),
      give(`${READER.key.slice(0, -4)}AAAA`),
    ]);
    const { error } = (await refused.json()) as { error: { message: string } };
    await page.getByText(error.message).waitFor();
    expect(complaints).toEqual([]);
  });

  test('does not offer what the key may not do, and forgets it on demand', async () => {
    const { page, complaints } = desk;
    await give(READER.key);
    await page.getByText('this key may not bring one').waitFor();
    expect(await page.getByRole('button', { name: 'Generate' }).count()).toBe(0);
    expect(await page.getByRole('link', { name: 'New index' }).count()).toBe(0);
    expect(JSON.stringify(await page.context().storageState())).not.toContain('dvs_');
    await page.getByRole('button', { name: 'Forget the key' }).click();
    await page.getByRole('heading', { name: 'This service asks for a key' }).waitFor();
    expect(complaints).toEqual([]);
  });

  test('does with another key what that one may, also what the browser loads by itself', async () => {
    const { page, service, complaints } = desk;
    await give(DESK.key);
    await page.getByRole('button', { name: 'Generate' }).waitFor();
    await page.goto(`${service.url()}/console/data/import`);
    const file = await downloaded(page, () => page.getByRole('link', { name: 'the same as CSV' }).click());
    expect(file.subarray(0, 2).toString()).toBe('PK');
    expect(complaints).toEqual([]);
  });
});
