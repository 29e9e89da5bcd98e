import { hashKernels } from './kernel-bits.js';
import { hashStoredModel } from './stored-model-bits.js';

/**
 * Script that prints hashes of results. They belong to the Node version that runs it: `node
 * dist/test/workers/print-bits.js`.
 */
process.stdout.write(`${JSON.stringify({ ...hashKernels(), ...(await hashStoredModel()) }, null, 2)}\n`);
