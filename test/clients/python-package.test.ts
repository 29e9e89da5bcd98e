import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { IS_SOAK } from '../soak.js';
import { CLIENTS, hasCommand, isPythonHere, runPython, reportMissing } from './python-user.js';

const hasMypy = IS_SOAK && hasCommand('mypy');
reportMissing('the Python package', { 'mypy, which takes minutes, and SOAK=1': hasMypy });

let folder: string;
beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), 'divisor-package-'))));
afterAll(() => rmSync(folder, { recursive: true }));

test.skipIf(!isPythonHere)('every module is valid Python 3.9', async () => {
  const parse =
    'import ast, pathlib, sys; [ast.parse(file.read_text("utf8"), feature_version=(3, 9)) for file in pathlib.Path(sys.argv[1]).glob("*.py")]';
  const { status, err } = await runPython(['-c', parse, join(CLIENTS, 'divisor')], folder, {});
  expect(status, err).toBe(0);
});

test.skipIf(!hasMypy)(
  'its types pass strict checks for the oldest Python that mypy and the client both support',
  () => {
    const checkTypes = (version: string) => {
      const words = ['--strict', '--python-version', version, '--cache-dir', join(folder, 'mypy')];
      return spawnSync('mypy', [...words, '--config-file', 'pyproject.toml', 'divisor'], {
        cwd: CLIENTS,
        encoding: 'utf8',
      });
    };
    const oldest = checkTypes('3.9');
    const { status, stdout } = oldest.stderr.includes('is not supported') ? checkTypes('3.10') : oldest;
    expect(status, stdout).toBe(0);
  },
);
