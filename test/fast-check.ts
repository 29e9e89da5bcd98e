import * as fc from 'fast-check';
import { IS_SOAK } from './soak.js';

/** Every `npm test` draws the same cases; `npm run soak` draws new ones and prints the seed of a failure. */
if (!IS_SOAK) fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: 20_240_229 });

export { fc };
