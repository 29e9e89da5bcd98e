import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

/** A small project in a separate folder, with the scripts and settings of this project. */
export interface Project {
  readonly folder: string;
  write(path: string, text: string): Promise<void>;
  read(path: string): Promise<string>;
  remove(path: string): Promise<void>;
  /** Runs a command to its end. @returns exit status and output */
  run(command: string, words: readonly string[]): Promise<{ readonly status: number | null; readonly written: string }>;
  /** Returns the steps that have run since the last call, without the compiler. Several steps run at the same time. */
  steps(): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** Script of a service. It reports its start and the signal that ends it. */
const SERVICE = `
const alive = setInterval(() => {}, 1000);
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.once(signal, () => {
    console.log('stopped by ' + signal);
    clearInterval(alive);
  });
}
console.log('listening');
export {};
`;

const formatStepScript = (name: string, outputs: readonly string[]) => `
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
appendFileSync('steps.log', '${name}\\n');
for (const file of ${JSON.stringify(outputs)}) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, '${name}');
}
`;

/** Script that writes the clients from `src/contract/api.ts`. */
const CLIENTS_SCRIPT = `
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
appendFileSync('steps.log', 'clients\\n');
for (const folder of ['src/clients/python/divisor', 'dist/.build']) mkdirSync(folder, { recursive: true });
writeFileSync('src/clients/typescript/contract.ts', readFileSync('src/contract/api.ts', 'utf8'));
for (const name of ['contract.py', 'api.py', 'aio.pyi', 'codes.py', 'version.py'])
  writeFileSync('src/clients/python/divisor/' + name, '');
writeFileSync('dist/.build/clients.json', '["src/contract/api.ts"]');
`;

const CLIENT = 'src/clients/typescript';
const CONSOLE = 'src/console';

export async function createProject(): Promise<Project> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'divisor-build-')));
  const resolvePath = (path: string) => join(folder, path);
  const write = async (path: string, text: string) => {
    await mkdir(dirname(resolvePath(path)), { recursive: true });
    await writeFile(resolvePath(path), text);
  };
  for (const path of [
    'scripts',
    'package.json',
    'tsconfig.json',
    `${CLIENT}/tsconfig.json`,
    `${CONSOLE}/tsconfig.json`,
    'src/engine/tsconfig.json',
  ])
    await cp(path, resolvePath(path), { recursive: true });
  await symlink(resolve('node_modules'), resolvePath('node_modules'));
  await write('src/main.ts', SERVICE);
  await write('workers/tasks.ts', 'export const worker = 1;\n');
  await write('test/first.test.ts', 'export const first = 1;\n');
  await write(`${CLIENT}/divisor.ts`, 'export const client = 1;\n');
  await write('src/contract/api.ts', 'export const contract = 1;\n');
  await write('scripts/clients.mjs', CLIENTS_SCRIPT);
  await write('scripts/answers.mjs', formatStepScript('answers', ['dist/answers.json', 'dist/.build/examples.json']));
  await write('kernels/wasm/build.mjs', formatStepScript('kernels', ['dist/kernels/wasm/kernels.wasm']));
  await write('kernels/native/build.mjs', formatStepScript('native', ['dist/kernels/native/built.json']));
  await write(`${CONSOLE}/main.tsx`, 'export const page = 1;\n');
  await write(
    'scripts/console.mjs',
    formatStepScript('console', ['dist/console/index.html', 'dist/console/packages.json']),
  );
  await write('src/engine/api.ts', 'export const api = 1;\n');
  await write(
    'scripts/engine.mjs',
    formatStepScript('engine', ['dist/engine/built.json', 'dist/engine/packages.json', 'dist/page/examples.json']),
  );
  await write(
    'scripts/bundle.mjs',
    formatStepScript('bundle', ['dist/bundle/built.json', 'dist/bundle/packages.json']),
  );
  const { version, platform, arch } = process;
  await write(
    'scripts/code-cache.mjs',
    formatStepScript('code-cache', [`dist/bundle/dispatch-${version}-${platform}-${arch}.cache`]),
  );
  await write('data/guide/build.mjs', formatStepScript('guide', ['dist/guide.json']));
  await write('data/guide/compress.mjs', formatStepScript('compress', ['dist/documentation/built.json']));
  return {
    folder,
    write,
    read: (path) => readFile(resolvePath(path), 'utf8'),
    remove: (path) => rm(resolvePath(path)),
    async run(command, words) {
      const child = spawn(command, words, { cwd: folder });
      let output = '';
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding('utf8').on('data', (text: string) => (output += text));
      const [status] = (await once(child, 'close')) as [number | null];
      return { status, written: output };
    },
    async steps() {
      const logText = await readFile(resolvePath('steps.log'), 'utf8').catch(() => '');
      await rm(resolvePath('steps.log'), { force: true });
      return logText.split('\n').filter(Boolean).toSorted();
    },
    close: () => rm(folder, { recursive: true }),
  };
}
