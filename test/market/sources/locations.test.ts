import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createLocations } from '#market/read/folder.js';
import { createManagedFolders } from '#market/content/managed-folder.js';
import { openTemporaryFolders } from '../../store/temporary-folder.js';

const createFolder = openTemporaryFolders();

describe('the places that stores may be read from', () => {
  async function createTree() {
    const base = await createFolder();
    await mkdir(join(base, 'root', 'data'), { recursive: true });
    await mkdir(join(base, 'root-beside', 'data'), { recursive: true });
    await writeFile(join(base, 'root', 'file.csv'), '');
    await symlink(join(base, 'root-beside'), join(base, 'root', 'leaving'));
    await symlink(join(base, 'root', 'data'), join(base, 'root', 'staying'));
    const locations = createLocations([join(base, 'root')]);
    const answer = async (place: string) => {
      const resolvedLocation = await locations.resolve(place, 'folder');
      return 'path' in resolvedLocation ? resolvedLocation.path : resolvedLocation.problem.code;
    };
    return { base, answer };
  }

  test('are the folders below a root, links resolved', async () => {
    const { base, answer } = await createTree();
    expect(await answer(join(base, 'root'))).toBe(join(base, 'root'));
    expect(await answer(join(base, 'root', 'data'))).toBe(join(base, 'root', 'data'));
    expect(await answer(join(base, 'root', 'staying'))).toBe(join(base, 'root', 'data'));
    expect(await answer(join(base, 'root', 'data', '..', 'data'))).toBe(join(base, 'root', 'data'));
  });

  test.each([
    ['a sibling folder with the same beginning of its name', '/root-beside/data'],
    ['the parent', '/root/..'],
    ['a way out through dots', '/root/data/../../root-beside'],
    ['a link that leaves', '/root/leaving/data'],
    ['a link that leaves to a place that is not there', '/root/leaving/nothing'],
    ['a place outside that is not there', '/nothing/at/all'],
  ])('are not %s', async (_what, place) => {
    const { base, answer } = await createTree();
    expect(await answer(base + place)).toBe('LOCATION_NOT_ALLOWED');
  });

  test('give the same message as absent ones when they are outside', async () => {
    const { base } = await createTree();
    const locations = createLocations([join(base, 'root')]);
    expect(await locations.resolve(join(base, 'root-beside', 'data'), 'folder')).toEqual(
      await locations.resolve(join(base, 'root-beside', 'none'), 'folder'),
    );
  });

  test('are refused in the name of the machine, where other fronts may allow them', async () => {
    const { base } = await createTree();
    const locations = createLocations([join(base, 'root')], { machine: 'front-2.example' });
    expect(await locations.resolve(join(base, 'root-beside', 'data'), 'folder')).toMatchObject({
      problem: { message: expect.stringContaining('on front-2.example, which answered') },
    });
  });

  test('include where a store is registered, for reading that store only, unless the operator has set the roots', async () => {
    const { base } = await createTree();
    const roots = [join(base, 'root')];
    const registeredFolder = join(base, 'root-beside', 'data');
    const locations = createLocations(roots, { areRegisteredAllowed: true });
    const ownLocations = locations.forRegistered(registeredFolder);
    expect(await ownLocations.resolve(registeredFolder, 'folder')).toEqual({ path: registeredFolder });
    expect(await ownLocations.allows(join(registeredFolder, 'market.csv'))).toBe(true);
    for (const otherLocations of [locations, createLocations(roots).forRegistered(registeredFolder)]) {
      expect(await otherLocations.resolve(registeredFolder, 'folder')).toMatchObject({
        problem: { code: 'LOCATION_NOT_ALLOWED' },
      });
      expect(await otherLocations.allows(join(registeredFolder, 'market.csv'))).toBe(false);
    }
    expect(await ownLocations.allows(join(base, 'root-beside'))).toBe(false);
    expect(await ownLocations.allows(join(base, 'root', 'data'))).toBe(true);
  });

  test('do not include a registered folder that has become a link', async () => {
    const { base } = await createTree();
    const linkPath = join(base, 'root-beside', 'registered');
    await symlink(join(base, 'root-beside', 'data'), linkPath);
    const ownLocations = createLocations([join(base, 'root')], { areRegisteredAllowed: true }).forRegistered(linkPath);
    expect(await ownLocations.resolve(linkPath, 'folder')).toMatchObject({ problem: { code: 'LOCATION_NOT_ALLOWED' } });
    expect(await ownLocations.allows(join(base, 'root-beside', 'data', 'market.csv'))).toBe(false);
  });

  test.each(['relative/path', '', '/tmp/a\0b'])('are given by an absolute path: %j', async (place) => {
    expect(await (await createTree()).answer(place)).toBe('LOCATION_NOT_ALLOWED');
  });

  test('that are absent, or files, are not found', async () => {
    const { base, answer } = await createTree();
    expect(await answer(join(base, 'root', 'none'))).toBe('LOCATION_NOT_FOUND');
    expect(await answer(join(base, 'root', 'file.csv'))).toBe('LOCATION_NOT_FOUND');
  });

  test('are reported without any path of the machine', async () => {
    const { base } = await createTree();
    const locations = createLocations([join(base, 'root')]);
    for (const place of [join(base, 'root', 'none'), join(base, 'root', 'file.csv'), base, 'relative']) {
      const resolvedLocation = await locations.resolve(place, 'folder');
      expect('problem' in resolvedLocation && !resolvedLocation.problem.message.includes('/')).toBe(true);
    }
  });
});

describe('managed folders', () => {
  test('are removed only with the mark of their store', async () => {
    const root = await createFolder();
    const folders = createManagedFolders(root);
    const ownFolder = await folders.create('mine');
    await mkdir(join(root, 'plain'));
    expect(await folders.remove(ownFolder, 'other')).toBe(false);
    expect(await folders.remove(join(root, 'plain'), 'plain')).toBe(false);
    expect(await folders.remove(root, 'mine')).toBe(false);
    expect(await folders.remove(ownFolder, 'mine')).toBe(true);
    expect(await readdir(root)).toEqual(['plain']);
  });

  test('outside the home are never removed, even with a mark', async () => {
    const [root, elsewhere] = [await createFolder(), await createFolder()];
    const foreignFolder = await createManagedFolders(elsewhere).create('mine');
    expect(await createManagedFolders(root).remove(foreignFolder, 'mine')).toBe(false);
    expect(await readdir(elsewhere)).toHaveLength(1);
  });

  test('that no store names are swept, others are left', async () => {
    const root = await createFolder();
    const before = createManagedFolders(root);
    const [namedFolder] = [await before.create('named'), await before.create('lost')];
    await mkdir(join(root, 'plain'));
    await mkdir(join(root, '.draft-cut-short')); // A crash before the marker file is written leaves such a folder.
    await createManagedFolders(root).sweep(new Set([namedFolder])); // as at the next start
    expect((await readdir(root)).toSorted()).toEqual([namedFolder.slice(root.length + 1), 'plain'].toSorted());
  });
});
