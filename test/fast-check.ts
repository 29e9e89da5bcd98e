import * as fc from 'fast-check';
import { IS_SOAK } from './soak.js';

/** fast-check with the same cases in every `npm test`; `npm run soak` draws new ones and prints the seed of a failure. */
if (!IS_SOAK) fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: 20_240_229 });

export { fc };
