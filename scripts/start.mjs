// Builds changed sources, then runs a command of `divisor` in the same process: `node scripts/start.mjs serve`. `npm
// start` replaces its shell with this process (`exec`): a signal to npm reaches the service, and npm waits for its end.
import { buildOrEnd } from './build.mjs';

await buildOrEnd({ start: true });
await import('../dist/src/main.js');
