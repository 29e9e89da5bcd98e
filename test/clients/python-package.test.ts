import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { IS_SOAK } from '../soak.js';
import { CLIENTS, PYTHONS, hasCommand, hasModuleIn, isPythonHere, runPython, reportMissing } from './python-user.js';

const hasMypy = IS_SOAK && hasCommand('mypy');
/** First installed Python that can build wheels and create virtual environments. */
const BUILDER = PYTHONS.find((command) => hasModuleIn(command, 'pip', 'setuptools', 'wheel', 'venv'));
reportMissing('the Python package', {
  'mypy, which takes minutes, and SOAK=1': hasMypy,
  'pip, setuptools, wheel and venv': BUILDER !== undefined,
});

const { version: VERSION } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly version: string };

/** Script that imports the package and prints the properties of the installation. */
const INSTALLED = `
import json, pathlib, site
from importlib.metadata import version
import divisor, divisor.aio, divisor.notebook, divisor.version
folder = pathlib.Path(divisor.__file__).parent
print(json.dumps({
    "isInstalled": str(folder.parent) in site.getsitepackages(),
    "versions": [divisor.version.VERSION, version("divisor-client")],
    "types": sorted(file.name for file in folder.iterdir() if file.name in ("aio.pyi", "py.typed")),
}))`;

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

test.skipIf(BUILDER === undefined)('it is a typed wheel, built and installed without a network', () => {
  const source = join(folder, 'source');
  cpSync(CLIENTS, source, { recursive: true });
  const run = (command: string, ...words: readonly string[]) => {
    const { status, stdout, stderr } = spawnSync(command, words, {
      cwd: folder,
      encoding: 'utf8',
      env: { ...process.env, PIP_CONFIG_FILE: '/dev/null', PIP_DISABLE_PIP_VERSION_CHECK: '1' },
    });
    expect(status, stderr).toBe(0);
    return stdout;
  };
  const offlineFlags = ['--no-index', '--no-deps'];
  run(BUILDER!, '-m', 'pip', 'wheel', '--no-build-isolation', ...offlineFlags, '-w', 'wheels', source);
  const [wheel, ...otherWheels] = readdirSync(join(folder, 'wheels'));
  expect([wheel, otherWheels]).toEqual([`divisor_client-${VERSION}-py3-none-any.whl`, []]);

  run(BUILDER!, '-m', 'venv', '--without-pip', 'environment');
  const python = join(folder, 'environment/bin/python');
  run(BUILDER!, '-m', 'pip', '--python', python, 'install', ...offlineFlags, join('wheels', wheel!));
  // The flag -I makes Python ignore PYTHONPATH and the working folder, which contains the sources.
  const installation: unknown = JSON.parse(run(python, '-I', '-c', INSTALLED));
  expect(installation).toEqual({ isInstalled: true, versions: [VERSION, VERSION], types: ['aio.pyi', 'py.typed'] });
});
