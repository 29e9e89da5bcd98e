import { readFileSync } from 'node:fs';
import { API } from '#contract/api.js';
import { openApiDocument } from '#contract/openapi.js';
import { ERRORS } from '#domain/refusals/refusal.js';
import { pythonAsync } from './python-async.js';
import { pythonErrors } from './python-errors.js';
import { pythonOperations } from './python-operations.js';
import { pythonTypes } from './python-types.js';
import { typescriptSource } from './typescript-source.js';

const PYTHON = 'src/clients/python/divisor';

/** Returns the client files that are generated from the contract, by path. */
export function clientSources(): Readonly<Record<string, string>> {
  const document = openApiDocument(API, '');
  const api = pythonOperations(document);
  const [client, views, batches] = ['client', 'views', 'batches'].map((name) =>
    readFileSync(`${PYTHON}/${name}.py`, 'utf8'),
  );
  return {
    'src/clients/typescript/contract.ts': typescriptSource(document),
    [`${PYTHON}/contract.py`]: pythonTypes(document),
    [`${PYTHON}/api.py`]: api,
    [`${PYTHON}/aio.pyi`]: pythonAsync({ client: client!, api, views: views!, batches: batches! }),
    [`${PYTHON}/codes.py`]: pythonErrors(ERRORS),
    [`${PYTHON}/version.py`]: pythonVersion(),
  };
}

function pythonVersion(): string {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly version: string };
  return `# Written from package.json by \`npm run generate\`.\nVERSION = "${version}"\n`;
}
