import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { IS_SOAK } from '../soak.js';
import { CLIENTS, hasCommand, hasModule, runPython, reportMissing } from './python-user.js';

const hasMypy = IS_SOAK && hasCommand('mypy');
const canBuild = hasModule('pip') && hasModule('setuptools', 'wheel');
reportMissing('the Python package', {
  'mypy, which takes minutes, and SOAK=1': hasMypy,
  'pip, setuptools and wheel': canBuild,
});

const { version: VERSION } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly version: string };

let folder: string;
beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), 'divisor-package-'))));
afterAll(() => rmSync(folder, { recursive: true }));

test.skipIf(!canBuild)('every module is Python as 3.9 reads it', async () => {
  const parse =
    'import ast, pathlib, sys; [ast.parse(file.read_text("utf8"), feature_version=(3, 9)) for file in pathlib.Path(sys.argv[1]).glob("*.py")]';
  const { status, err } = await runPython(['-c', parse, join(CLIENTS, 'divisor')], folder, {});
  expect(status, err).toBe(0);
});

test.skipIf(!hasMypy)('its types hold, strictly, for the oldest Python that mypy knows of ours', () => {
  const checked = (version: string) => {
    const words = ['--strict', '--python-version', version, '--cache-dir', join(folder, 'mypy')];
    return spawnSync('mypy', [...words, '--config-file', 'pyproject.toml', 'divisor'], {
      cwd: CLIENTS,
      encoding: 'utf8',
    });
  };
  const oldest = checked('3.9');
  const { status, stdout } = oldest.stderr.includes('is not supported') ? checked('3.10') : oldest;
  expect(status, stdout).toBe(0);
});

test.skipIf(!canBuild)('it is a typed wheel, made without a network', async () => {
  const source = join(folder, 'source');
  cpSync(CLIENTS, source, { recursive: true });
  const words = ['-m', 'pip', 'wheel', '--no-build-isolation', '--no-index', '--no-deps', '-w', 'wheels', source];
  const { status, err } = await runPython(words, folder, {});
  expect(status, err).toBe(0);
  const [wheel, ...others] = readdirSync(join(folder, 'wheels'));
  expect([wheel, others]).toEqual([`divisor_client-${VERSION}-py3-none-any.whl`, []]);
  // Python can import from a wheel, which is a zip file.
  const ran = await runPython(
    ['-c', 'import divisor, divisor.version; print(divisor.__file__, divisor.version.VERSION)'],
    folder,
    { PYTHONPATH: join(folder, 'wheels', wheel!) },
  );
  expect([ran.err, ran.out.includes('.whl/divisor'), ran.out.trim().endsWith(VERSION)]).toEqual(['', true, true]);
  const held = await runPython(['-m', 'zipfile', '-l', join(folder, 'wheels', wheel!)], folder, {});
  for (const file of ['py.typed', 'aio.pyi']) expect(held.out).toContain(`divisor/${file}`);
});
