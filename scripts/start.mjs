// Builds what changed, then runs a command of `divisor` in this same process: `node scripts/start.mjs serve`.
// `npm start` is that process, not a shell in front of it (`exec`): a signal to npm reaches the service, and npm waits for its end.
import { buildOrEnd } from './build.mjs';

await buildOrEnd();
await import('../dist/src/main.js');
