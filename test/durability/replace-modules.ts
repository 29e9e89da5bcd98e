import { register } from 'node:module';

/** Executed before the program is loaded: Node then loads modules of the test instead of those of the program. */
register(new URL('./module-hooks.js', import.meta.url));
